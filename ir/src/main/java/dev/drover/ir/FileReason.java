package dev.drover.ir;

import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.zip.ZipException;

/** Why a file cannot be read or written, in words that do not repeat its path. */
public final class FileReason {
    private FileReason() {}

    /** A clause without a subject's name, such as {@code it does not exist}. */
    public static String of(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "it (or its folder) does not exist";
        }
        if (e instanceof AccessDeniedException) {
            return "access is denied";
        }
        if (e instanceof EOFException) {
            return "it ends in the middle";
        }
        if (e instanceof ZipException) {
            return "its compressed data is damaged (" + e.getMessage() + ")";
        }
        if (e instanceof CharacterCodingException) {
            return "it is not text in UTF-8";
        }
        if (e instanceof FileSystemException system && system.getReason() != null) {
            return "the system says: " + system.getReason();
        }
        return "the system says: " + e.getMessage();
    }
}
