//! Waiting at a channel whose other end wakes callers: their wakers are somebody else's code, and harm nobody there.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use parking_lot::Mutex;

use crate::contain::contain;

/// Stands before the waker of a caller, whose panics end here: whoever wakes has others to serve.
#[derive(Default)]
struct Calm(Mutex<Option<Waker>>);

impl Wake for Calm {
    fn wake(self: Arc<Self>) {
        let waker = self.0.lock().take();
        let _ = contain(|| waker.map(Waker::wake));
    }
}

/// The future, woken through one that catches panics.
pub(super) async fn calm<F: Future>(future: F) -> F::Output {
    // The channel keeps the same one all the time: nothing of the caller's is dropped in there.
    let calm = Arc::new(Calm::default());
    let waker = Waker::from(Arc::clone(&calm));
    let mut future = pin!(future);
    poll_fn(|context| {
        let newest = context.waker().clone();
        let before = calm.0.lock().replace(newest);
        drop(before);
        future.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}
