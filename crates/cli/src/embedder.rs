//! Which embedder a command uses: the stored or built-in one, the static model, none, or an HTTP endpoint.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use nuthatch_link::embed::{HttpEmbedder, HttpOptions, Model};
use nuthatch_link::{CollectionOptions, EmbedderChoice, Error, Result};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// The collection's own embedder; for a new collection, the built-in model
    Auto,
    /// The static model: much faster than the built-in one, and weaker
    Static,
    /// No vectors: search by words alone
    None,
    /// An OpenAI-compatible endpoint (Ollama, vLLM, llama.cpp, …)
    Openai,
}

#[derive(Args)]
pub struct EmbedderArgs {
    /// The embedder, which turns text into vectors
    #[arg(long, value_enum, env = "NUTHATCH_EMBEDDER", hide_env_values = true, default_value_t = Kind::Auto, value_name = "KIND", help_heading = "Embedder")]
    embedder: Kind,
    /// Address of the endpoint, without /embeddings, for example http://localhost:11434/v1; its key
    /// is read from NUTHATCH_EMBED_API_KEY
    #[arg(long, env = "NUTHATCH_EMBEDDER_URL", hide_env_values = true, value_name = "URL", help_heading = "Embedder")]
    embedder_url: Option<String>,
    /// The model's name at the endpoint
    #[arg(
        long,
        env = "NUTHATCH_EMBEDDER_MODEL",
        hide_env_values = true,
        value_name = "NAME",
        help_heading = "Embedder"
    )]
    embedder_model: Option<String>,
    /// Dimension of its vectors [default: ask the endpoint]
    #[arg(long, env = "NUTHATCH_EMBEDDER_DIM", hide_env_values = true, value_name = "DIM", help_heading = "Embedder")]
    embedder_dim: Option<usize>,
}

impl EmbedderArgs {
    /// An endpoint that states no dimension is asked here, so call this only when vectors are needed.
    pub fn options(&self) -> Result<CollectionOptions> {
        let embedder = match self.embedder {
            Kind::Auto => EmbedderChoice::Auto,
            Kind::Static => EmbedderChoice::BuiltIn(Model::Static),
            Kind::None => EmbedderChoice::None,
            Kind::Openai => {
                let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
                let (Some(url), Some(model)) = (given(&self.embedder_url), given(&self.embedder_model)) else {
                    return Err(Error::invalid(
                        "--embedder openai needs --embedder-url (for example http://localhost:11434/v1) and --embedder-model",
                    ));
                };
                let options = HttpOptions { dim: self.embedder_dim, ..HttpOptions::new(url, model) };
                EmbedderChoice::Given(Arc::new(HttpEmbedder::new(options)?))
            }
        };
        Ok(CollectionOptions { embedder, ..CollectionOptions::default() })
    }
}
