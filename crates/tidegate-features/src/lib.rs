//! Features of other crates, the same whichever of ours are built. `Cargo.toml` says why.
