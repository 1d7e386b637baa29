//! The manifest of a model folder.

use nuthatch_embed::{ModelManifest, OnnxEmbedder, OnnxOptions};

use crate::Run;

pub fn start() -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["model.onnx", "weights.bin", "tokenizer.json", "runtime.so"] {
        std::fs::write(folder.path().join(name), b"0123456789").expect("written");
    }
    Box::new(move |bytes| {
        std::fs::write(folder.path().join("model.json"), bytes).expect("written");
        let Ok(manifest) = ModelManifest::read(folder.path()) else { return };
        assert!(manifest.dim > 0 && manifest.max_tokens > 2);
        let _right_or_not = manifest.verify(folder.path()).is_ok();
        let embedder = OnnxEmbedder::open(folder.path(), OnnxOptions::default()).expect("what was read is opened");
        assert_eq!(embedder.manifest().fingerprint(), manifest.fingerprint());
    })
}
