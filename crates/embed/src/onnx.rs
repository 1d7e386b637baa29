//! The offline embedder: a model folder run by ONNX Runtime, one text at a time.
//!
//! One text at a time because dynamic int8 quantisation scales activations by the largest value in the *batch*: in a batch, a
//! text's vector would depend on its neighbours, and re-indexing one passage would not give the vector it had. Alone, there is no
//! padding either (measurements: `docs/rfcs/0007-embedders.md`).

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ort::session::Session;
use ort::value::TensorRef;
use parking_lot::{Mutex, MutexGuard};

use crate::resident::Before;
use crate::tokens::Marked;
use crate::{EmbedError, Embedder, ModelManifest, check_vectors, normalise, runtime};

/// Most models that are in memory for work that nobody waits for.
const LANES_MAX: usize = 4;

/// How to run a model.
#[derive(Debug, Clone, Default)]
pub struct OnnxOptions {
    /// Threads that work on one text. Default: half of the machine's, at least one, at most four, so that other
    /// programs on the machine keep theirs.
    pub threads: Option<NonZeroUsize>,
}

/// A model folder's embedder. Opening is cheap; the model is checked against its hashes and loaded at the first text, and can
/// be given back with [`unload`](Embedder::unload).
pub struct OnnxEmbedder {
    dir: PathBuf,
    manifest: ModelManifest,
    fingerprint: String,
    threads: usize,
    loaded: Mutex<Slot>,
    /// For work that nobody waits for: a model each for its threads, while nobody has them.
    aside: Mutex<Vec<Loaded>>,
}

#[derive(Default)]
struct Slot {
    model: Option<Loaded>,
    /// Hashes are checked once in the embedder's life, not at each load.
    verified: bool,
}

struct Loaded {
    tokens: Marked,
    session: Session,
    resident_bytes: u64,
}

impl OnnxEmbedder {
    /// Reads the folder's manifest and checks that its files are there with their lengths.
    pub fn open(dir: &Path, options: OnnxOptions) -> Result<Self, EmbedError> {
        let manifest = ModelManifest::read(dir)?;
        let fingerprint = manifest.fingerprint();
        let threads = options.threads.map_or_else(threads_by_default, NonZeroUsize::get);
        Ok(Self {
            dir: dir.to_owned(),
            manifest,
            fingerprint,
            threads,
            loaded: Mutex::default(),
            aside: Mutex::default(),
        })
    }

    /// The folder's manifest.
    pub fn manifest(&self) -> &ModelManifest {
        &self.manifest
    }

    /// Reads every file of the folder and compares its hash with the recorded one.
    pub fn verify(&self) -> Result<(), EmbedError> {
        self.manifest.verify(&self.dir)
    }

    fn embed(&self, slot: &mut MutexGuard<'_, Slot>, prefix: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let model = self.load(slot)?;
        self.embed_with(model, prefix, text)
    }

    fn embed_with(&self, model: &mut Loaded, prefix: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let ids = if prefix.is_empty() {
            model.tokens.encode(text)?
        } else {
            model.tokens.encode(&format!("{prefix}{text}"))?
        };
        let mut vector = model.run(&ids).map_err(|e| self.runtime(e))?;
        normalise(&mut vector);
        Ok(vector)
    }

    fn load<'s>(&self, slot: &'s mut MutexGuard<'_, Slot>) -> Result<&'s mut Loaded, EmbedError> {
        if slot.model.is_none() {
            self.verify_once(slot)?;
            slot.model = Some(self.open_model()?);
        }
        slot.model.as_mut().ok_or_else(|| self.runtime("it could not be kept in memory"))
    }

    fn verify_once(&self, slot: &mut Slot) -> Result<(), EmbedError> {
        if !slot.verified {
            self.verify()?;
            slot.verified = true;
        }
        Ok(())
    }

    fn open_model(&self) -> Result<Loaded, EmbedError> {
        Loaded::open(&self.dir, &self.manifest, self.threads, |e| self.runtime(e))
    }

    /// A model that nobody else uses.
    fn model_aside(&self) -> Result<Loaded, EmbedError> {
        if let Some(model) = self.aside.lock().pop() {
            return Ok(model);
        }
        self.verify_once(&mut self.loaded.lock())?;
        self.open_model()
    }

    fn runtime(&self, what: impl std::fmt::Display) -> EmbedError {
        EmbedError::Runtime { name: self.manifest.name.clone(), what: what.to_string() }
    }
}

impl Embedder for OnnxEmbedder {
    fn name(&self) -> &str {
        &self.manifest.name
    }

    fn dim(&self) -> usize {
        self.manifest.dim
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut slot = self.loaded.lock();
        for text in texts {
            vectors.push(self.embed(&mut slot, &self.manifest.passage_prefix, text)?);
            // A question that waits is answered between two passages, not after the whole batch.
            MutexGuard::bump(&mut slot);
        }
        drop(slot);
        check_vectors(self.name(), self.dim(), &vectors)?;
        Ok(vectors)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let vector = self.embed(&mut self.loaded.lock(), &self.manifest.query_prefix, text)?;
        check_vectors(self.name(), self.dim(), std::slice::from_ref(&vector))?;
        Ok(vector)
    }

    fn runs_alone(&self) -> bool {
        true
    }

    /// As many as keep every processor busy, and no more than four: each has the model in memory.
    fn lanes(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        (processors / self.threads).clamp(1, LANES_MAX)
    }

    fn embed_aside(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut model = self.model_aside()?;
        let prefix = &self.manifest.passage_prefix;
        let vectors: Vec<Vec<f32>> =
            texts.iter().map(|text| self.embed_with(&mut model, prefix, text)).collect::<Result<_, _>>()?;
        self.aside.lock().push(model);
        check_vectors(self.name(), self.dim(), &vectors)?;
        Ok(vectors)
    }

    fn rest(&self) {
        self.aside.lock().clear();
    }

    /// The growth of the process while the model was loaded, at least the sizes of its weights and vocabulary; 0 when it is not loaded.
    fn resident_bytes(&self) -> u64 {
        let aside: u64 = self.aside.lock().iter().map(|model| model.resident_bytes).sum();
        self.loaded.lock().model.as_ref().map_or(0, |model| model.resident_bytes) + aside
    }

    fn unload(&self) {
        self.loaded.lock().model = None;
        self.rest();
    }
}

impl Loaded {
    fn open(
        dir: &Path,
        manifest: &ModelManifest,
        threads: usize,
        error: impl Fn(String) -> EmbedError,
    ) -> Result<Self, EmbedError> {
        let before = Before::now();
        let tokens = Marked::open(&dir.join(&manifest.tokenizer.name), manifest)?;
        let (library, graph) = (dir.join(&manifest.runtime.name), dir.join(&manifest.model.name));
        let session = runtime::session(&library, &graph, threads).map_err(error)?;
        let resident_bytes = before.growth(manifest.weights.bytes + manifest.tokenizer.bytes);
        Ok(Self { tokens, session, resident_bytes })
    }

    /// ids: `[tokens]`; gives `[dim]`, not normalised.
    fn run(&mut self, ids: &[i64]) -> Result<Vec<f32>, ort::Error> {
        let input = TensorRef::from_array_view(([1, ids.len()], ids))?;
        let outputs = self.session.run(ort::inputs!["input_ids" => input])?;
        let (_, vector) = outputs["embedding"].try_extract_tensor::<f32>()?;
        Ok(vector.to_vec())
    }
}

fn threads_by_default() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, 4))
}
