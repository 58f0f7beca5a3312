//! Keys in use, by the files that they were read from.
//!
//! To take a key in, and to compare it with its certificate, costs a tenth of a millisecond. A reload reads all files
//! again, a thousand of them on some servers, most of which have not changed: their keys are used again.

use aws_lc_rs::digest::{Context, SHA256, SHA256_OUTPUT_LEN};
use rustls::sign::SigningKey;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// Those that are used no longer are forgotten when their number doubles.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Known {
    keys: HashMap<Files, Weak<dyn SigningKey>>,
    /// Entries after the last time that some were forgotten.
    kept: usize,
}

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Identifies the content of a certificate file and of its key file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Files([u8; SHA256_OUTPUT_LEN]);

impl Files {
    pub(crate) fn new(certificate: &[u8], key: &[u8]) -> Self {
        let mut context = Context::new(&SHA256);
        context.update(&(certificate.len() as u64).to_be_bytes());
        context.update(certificate);
        context.update(key);
        let mut digest = [0; SHA256_OUTPUT_LEN];
        digest.copy_from_slice(context.finish().as_ref());
        Self(digest)
    }

    /// The key in them, if it is in use; it belongs to the first certificate.
    pub(crate) fn key(&self) -> Option<Arc<dyn SigningKey>> {
        known().keys.get(self)?.upgrade()
    }

    /// Records their key, once it is known to belong to the certificate.
    pub(crate) fn belong_to(self, key: &Arc<dyn SigningKey>) {
        let mut known = known();
        if known.keys.len() > 2 * known.kept + 16 {
            known.keys.retain(|_, key| key.strong_count() > 0);
            known.kept = known.keys.len();
        }
        known.keys.insert(self, Arc::downgrade(key));
    }
}
