//! Packs the vocabulary that tokens are counted by: a third of the size of the text that its crate carries.

#![allow(clippy::disallowed_methods, reason = "a build script reads and writes files")]
#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "count")]
    pack_vocabulary()?;
    Ok(())
}

/// Writes each token in the order of its rank, behind a byte that tells its length, compressed.
#[cfg(feature = "count")]
fn pack_vocabulary() -> Result<(), Box<dyn Error>> {
    const COMPRESSION: u8 = 9;
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    let mut packed = Vec::new();
    // Ranks have no gap up to the last token of text; those of the special tokens stand apart.
    for token in (0..).map_while(|rank| vocabulary.decode_bytes(&[rank]).ok()) {
        packed.push(u8::try_from(token.len())?);
        packed.extend(token);
    }
    let folder = std::env::var_os("OUT_DIR").ok_or("cargo names no folder to write to")?;
    let file = std::path::Path::new(&folder).join("vocabulary");
    Ok(std::fs::write(file, miniz_oxide::deflate::compress_to_vec(&packed, COMPRESSION))?)
}
