//! The manifests of the models' folders.

use nuthatch_embed::{ModelManifest, OnnxEmbedder, OnnxOptions, StaticEmbedder, StaticManifest};

use crate::Run;

pub fn start() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["model.onnx", "weights.bin", "tokenizer.json", "runtime.so", "table.f16"] {
        std::fs::write(folder.path().join(name), b"0123456789").expect("written");
    }
    Box::new(move |bytes| {
        std::fs::write(folder.path().join("model.json"), bytes).expect("written");
        if let Ok(manifest) = ModelManifest::read(folder.path()) {
            assert!(manifest.dim > 0 && manifest.max_tokens > 2);
            let _right_or_not = manifest.verify(folder.path()).is_ok();
            let embedder = OnnxEmbedder::open(folder.path(), OnnxOptions::default()).expect("what was read is opened");
            assert_eq!(embedder.manifest().fingerprint(), manifest.fingerprint());
        }
        if let Ok(manifest) = StaticManifest::read(folder.path()) {
            assert!(manifest.dim > 0 && manifest.max_tokens > 0 && manifest.empty_token < manifest.rows);
            assert_eq!(manifest.table.bytes, u64::from(manifest.rows) * manifest.dim as u64 * 2);
            let _right_or_not = manifest.verify(folder.path()).is_ok();
            let embedder = StaticEmbedder::open(folder.path()).expect("what was read is opened");
            assert_eq!(embedder.manifest().fingerprint(), manifest.fingerprint());
        }
    })
}
