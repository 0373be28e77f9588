"""Makes the steps of this folder: training steps as JAX (0.10, with optax) exports them, inputs, and outputs on the CPU."""
import json
import os
import struct

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

TYPES = {"float32": "F32", "int32": "I32", "uint32": "U32"}
RANDOM = np.random.RandomState(0)


def weights(*dims):
    return (RANDOM.randn(*dims) * 0.3).astype("f")


def save(path, prefix, arrays):
    names = ["%s%04d" % (prefix, i) for i in range(len(arrays))]
    header, offset = {"__metadata__": {"order": ",".join(names)}}, 0
    for name, array in zip(names, arrays):
        end = offset + array.nbytes
        header[name] = {"dtype": TYPES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in arrays))


def export(name, step, state, *batch):
    os.makedirs(name, exist_ok=True)
    jitted = jax.jit(step, donate_argnums=(0,), keep_unused=True)
    with open(name + "/step.hlo", "w") as file:
        file.write(jitted.lower(state, *batch).as_text(dialect="hlo"))
    save(name + "/in.safetensors", "a", [np.asarray(x) for x in jax.tree.leaves((state,) + batch)])
    save(name + "/out.safetensors", "o", [np.asarray(x) for x in jax.tree.leaves(jitted(state, *batch))])


def sgd(params, gradients):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)


def masked():
    """The loss is weighted by a mask, whose sum is over all micro-batches."""
    def loss(p, tokens, labels):
        logits = jnp.tanh(p["e"][tokens]) @ p["w"]
        mask = (labels > 0).astype(jnp.float32)
        return (optax.softmax_cross_entropy_with_integer_labels(logits, labels) * mask).sum() / mask.sum()

    def step(state, tokens, labels):
        value, gradients = jax.value_and_grad(loss)(state, tokens, labels)
        return sgd(state, gradients), value

    tokens, labels = (RANDOM.randint(0, 11, (8, 6)).astype("i4") for _ in range(2))
    export("masked", step, {"e": weights(11, 8), "w": weights(8, 11)}, tokens, labels)


def guarded():
    """The loss is scaled, and the update skipped where a gradient is not finite."""
    def step(state, x, z):
        def loss(w):
            return jnp.mean((jnp.tanh(x @ w) - z) ** 2) * state["scale"]

        value, gradient = jax.value_and_grad(loss)(state["w"])
        gradient = gradient / state["scale"]
        return lax.cond(
            jnp.all(jnp.isfinite(gradient)),
            lambda s, g: {"w": s["w"] - 0.1 * g, "scale": s["scale"] * 1.001},
            lambda s, g: {"w": s["w"], "scale": s["scale"] / 2},
            state,
            gradient,
        ), value / state["scale"]

    export("guarded", step, {"w": weights(6, 4), "scale": jnp.float32(1024)}, weights(8, 6), weights(8, 4))


def dropout():
    """Random bits by a counter-based generator, whose key is part of the state."""
    def step(state, x, z):
        key, sub = jax.random.split(state["key"])

        def loss(p):
            hidden = jnp.tanh(x @ p["w"])
            kept = jax.random.bernoulli(sub, 0.8, hidden.shape)
            return jnp.mean((jnp.where(kept, hidden / 0.8, 0) @ p["v"] - z) ** 2)

        params = {"w": state["w"], "v": state["v"]}
        value, gradients = jax.value_and_grad(loss)(params)
        return {"key": key, **sgd(params, gradients)}, value

    state = {"w": weights(16, 32), "v": weights(32, 4), "key": jax.random.PRNGKey(5)}
    export("dropout", step, state, weights(8, 16), weights(8, 4))


def keybias():
    """Attention whose keys have a bias: its gradient is 0 but for rounding, and Adam divides it by its own size."""
    optimizer = optax.adam(1e-2)

    def loss(p, x, z):
        scores = jnp.einsum("bqd,bkd->bqk", x @ p["q"], x @ p["k"] + p["b"])
        return jnp.mean((jax.nn.softmax(scores, -1) @ (x @ p["v"]) - z) ** 2)

    def step(state, x, z):
        value, gradients = jax.value_and_grad(loss)(state["p"], x, z)
        updates, new = optimizer.update(gradients, state["o"])
        return {"o": new, "p": optax.apply_updates(state["p"], updates)}, value

    params = {"q": weights(8, 8), "k": weights(8, 8), "b": weights(8), "v": weights(8, 8)}
    export("keybias", step, {"o": optimizer.init(params), "p": params}, weights(8, 5, 8), weights(8, 5, 8))


if __name__ == "__main__":
    for make in (masked, guarded, dropout, keybias):
        make()
