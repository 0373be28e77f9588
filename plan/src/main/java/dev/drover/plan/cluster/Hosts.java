package dev.drover.plan.cluster;

/** Some equal hosts: how many, and how many devices of which type each has. */
public record Hosts(String deviceType, int count, int devicesPerHost) {}
