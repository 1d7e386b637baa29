//! Objects under keys, written once: on S3, in a folder, or in memory.
//!
//! **Invariant:** [`Bucket::create`] never replaces an object. A caller that asks for it twice learns that there is
//! one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};

use crate::{ClusterError, Result};

/// A request that takes longer is given up: what came of it is unknown.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Of the client, for refusals that pass. The protocol itself asks again for as long as it takes.
const RETRIES_MAX: usize = 2;
const REMOVED_AT_ONCE: usize = 16;

/// A place for objects. Its calls block; none may be made on a thread of an asynchronous runtime.
#[derive(Clone)]
pub struct Bucket {
    objects: Arc<dyn ObjectStore>,
    runtime: Arc<Runtime>,
    prefix: String,
    address: String,
}

/// Returns the setting for an environment variable; `None` for one that does not concern S3.
fn config_key(name: &str) -> Option<AmazonS3ConfigKey> {
    if !name.starts_with("AWS_") {
        return None;
    }
    name.to_ascii_lowercase().parse().ok()
}

/// The outcome of [`Bucket::create`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// The object is there, with these bytes.
    New,
    /// There was one before.
    Before,
}

impl Bucket {
    /// Opens `s3://bucket/prefix`, or `file:///folder` to try things out. Says nothing to it yet.
    ///
    /// S3 is told who asks by `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or as the AWS tools are on machines of AWS; where
    /// it is by `AWS_REGION`, or `AWS_ENDPOINT` for other services. `AWS_ALLOW_HTTP=true` permits an endpoint without TLS.
    ///
    /// # Errors
    /// `Invalid` for another address.
    pub fn open(address: &str) -> Result<Self> {
        Self::open_with(
            address,
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// The same, with these variables instead of the environment's.
    ///
    /// # Errors
    /// `Invalid`.
    pub fn open_with(address: &str, variables: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let address = address.trim_end_matches('/');
        if let Some(rest) = address.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if bucket.is_empty() || bucket.contains('@') {
                let said =
                    "give s3://BUCKET/PREFIX; credentials belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
                return Err(ClusterError::Invalid(format!("the address of the bucket cannot be used: {said}")));
            }
            // Another thread may have chosen the provider; it is the same one.
            rustls::crypto::ring::default_provider().install_default().ok();
            let options = ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT);
            // Many services lack the request that removes several objects.
            let mut s3 = AmazonS3Builder::new().with_bucket_name(bucket).with_disable_bulk_delete(true);
            let mut plain = false;
            for (name, value) in variables {
                if name == "AWS_ALLOW_HTTP" {
                    plain = matches!(value.as_str(), "true" | "1");
                } else if let Some(key) = config_key(&name) {
                    s3 = s3.with_config(key, value);
                }
            }
            let s3 = s3.with_client_options(options.with_allow_http(plain)).with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: RETRIES_MAX,
                retry_timeout: REQUEST_TIMEOUT,
            });
            let s3 = s3.build().map_err(|error| ClusterError::Invalid(format!("{address} cannot be used: {error}")))?;
            return Self::over(Arc::new(s3), prefix, address);
        }
        if let Some(folder) = address.strip_prefix("file://") {
            let path = std::path::Path::new(folder);
            if !path.is_absolute() {
                return Err(ClusterError::Invalid(format!("{address}: name a folder by its whole path, file:///PATH")));
            }
            std::fs::create_dir_all(path).map_err(ClusterError::io(path))?;
            let files = LocalFileSystem::new_with_prefix(path).map(|files| files.with_fsync(true));
            let files = files.map_err(|error| ClusterError::Invalid(format!("{address} cannot be used: {error}")))?;
            return Self::over(Arc::new(files), "", address);
        }
        Err(ClusterError::Invalid(format!("{address:?} is not the address of a bucket; give s3://BUCKET/PREFIX")))
    }

    /// A bucket in memory, gone with its last clone: for tests.
    ///
    /// # Errors
    /// Those of starting threads.
    pub fn in_memory() -> Result<Self> {
        Self::over(Arc::new(InMemory::new()), "", "memory://")
    }

    /// Any store of objects. `address`: how it is named to people.
    ///
    /// # Errors
    /// Those of starting threads.
    pub fn over(objects: Arc<dyn ObjectStore>, prefix: &str, address: &str) -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(2).thread_name("nuthatch-bucket").enable_all().build();
        let runtime = runtime.map_err(|error| ClusterError::Invalid(format!("starting threads: {error}")))?;
        let (prefix, address) = (prefix.trim_matches('/').to_string(), address.to_string());
        Ok(Self { objects, runtime: Arc::new(runtime), prefix, address })
    }

    /// How it is named to people.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// An object's bytes; `None` when there is none.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let at = self.key(key);
        let got = self.runtime.block_on(async { self.objects.get(&at).await?.bytes().await });
        match got {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.unreachable(key, &error)),
        }
    }

    /// Stores an object, if there is none under this key: `If-None-Match: *`.
    ///
    /// # Errors
    /// `Unreachable`: the object may be there, and may still come to be.
    pub fn create(&self, key: &str, bytes: Vec<u8>) -> Result<Created> {
        let at = self.key(key);
        let options = PutOptions { mode: PutMode::Create, ..Default::default() };
        let put = self.runtime.block_on(self.objects.put_opts(&at, PutPayload::from(bytes), options));
        match put {
            Ok(_) => Ok(Created::New),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Created::Before),
            Err(error) => Err(self.unreachable(key, &error)),
        }
    }

    /// Keys that begin with `prefix/` and sort after `after`, in order, without the prefix, with their bytes.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn list(&self, prefix: &str, after: &str) -> Result<Vec<(String, u64)>> {
        let at = self.key(prefix);
        let from = self.key(&format!("{prefix}/{after}"));
        let listed = self.runtime.block_on(async {
            let found = match after.is_empty() {
                true => self.objects.list(Some(&at)),
                false => self.objects.list_with_offset(Some(&at), &from),
            };
            found.try_collect::<Vec<_>>().await
        });
        let listed = listed.map_err(|error| self.unreachable(prefix, &error))?;
        let inside = |key: &Key| Some(key.as_ref().strip_prefix(at.as_ref())?.strip_prefix('/')?.to_string());
        let mut keys: Vec<_> = listed.iter().filter_map(|one| Some((inside(&one.location)?, one.size))).collect();
        keys.sort();
        Ok(keys)
    }

    /// Removes an object; a missing one is fine.
    ///
    /// # Errors
    /// `Unreachable`.
    pub fn remove(&self, key: &str) -> Result<()> {
        match self.runtime.block_on(self.objects.delete(&self.key(key))) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.unreachable(key, &error)),
        }
    }

    /// Removes objects, several at a time.
    ///
    /// # Errors
    /// `Unreachable`: some may be gone.
    pub fn remove_all(&self, keys: &[String]) -> Result<()> {
        let removed = keys.iter().map(|key| {
            let (objects, at) = (self.objects.clone(), self.key(key));
            async move {
                match objects.delete(&at).await {
                    Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                    Err(error) => Err(self.unreachable(key, &error)),
                }
            }
        });
        self.runtime.block_on(stream::iter(removed).buffer_unordered(REMOVED_AT_ONCE).try_collect())
    }

    /// Returns the error for an object with damaged bytes.
    pub(crate) fn corrupt(&self, key: &str, what: impl Into<String>, remedy: &'static str) -> ClusterError {
        let (place, object) = (self.address.clone(), key.to_string());
        ClusterError::Corrupt { place, object, what: what.into(), remedy }
    }

    fn key(&self, key: &str) -> Key {
        match self.prefix.is_empty() {
            true => Key::from(key),
            false => Key::from(format!("{}/{key}", self.prefix)),
        }
    }

    fn unreachable(&self, key: &str, error: &Error) -> ClusterError {
        // The whole chain: the outermost error says only that there was one.
        let mut what = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            let said = cause.to_string();
            if !what.contains(&said) {
                what = format!("{what}: {said}");
            }
            source = cause.source();
        }
        ClusterError::Unreachable { place: self.address.clone(), object: key.to_string(), what }
    }
}
