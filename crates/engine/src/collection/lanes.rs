//! Embedding many texts in the background, on several threads.
//!
//! **Useful for** background work, which must be able to end soon. **Not for** a caller's few texts: an embedder takes them at once.
//!
//! **Invariant:** each text gets the vector that it would get alone, or none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nuthatch_embed::Embedder;
use parking_lot::Mutex;

use crate::{Error, Result};

/// Texts that a thread embeds before it looks whether it is to stop.
const PIECE: usize = 8;

/// Embeds texts on as many threads as the embedder has lanes, short ones with short ones. Texts not begun when `stop`
/// is set are left out.
pub(crate) fn embed_texts(
    embedder: &dyn Embedder,
    texts: &[String],
    stop: &AtomicBool,
) -> Result<Vec<Option<Vec<f32>>>> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    // The longest first: the threads end together.
    order.sort_by_key(|at| std::cmp::Reverse(texts[*at].len()));
    let pieces: Vec<&[usize]> = order.chunks(PIECE).collect();
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Made { vectors: vec![None; texts.len()], failed: None });
    let work = || {
        while !stop.load(Ordering::SeqCst) {
            let Some(piece) = pieces.get(next.fetch_add(1, Ordering::SeqCst)) else { return };
            let of_piece: Vec<&str> = piece.iter().map(|at| texts[*at].as_str()).collect();
            let vectors = embedder.embed_aside(&of_piece);
            let mut made = made.lock();
            match vectors {
                Ok(vectors) => piece.iter().zip(vectors).for_each(|(at, vector)| made.vectors[*at] = Some(vector)),
                Err(error) => {
                    next.fetch_max(pieces.len(), Ordering::SeqCst); // the others need not begin
                    made.failed = Some(Error::from(error));
                }
            }
        }
    };
    let threads = embedder.lanes().min(pieces.len());
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let Made { vectors, failed } = made.into_inner();
    // Vectors made before a failure are kept; the other texts get another turn, and report an error if they fail alone.
    match failed {
        Some(error) if vectors.iter().all(Option::is_none) => Err(error),
        _ => Ok(vectors),
    }
}

/// The threads' results so far.
struct Made {
    vectors: Vec<Option<Vec<f32>>>,
    failed: Option<Error>,
}
