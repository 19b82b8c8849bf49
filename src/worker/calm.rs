//! Waiting at a channel whose other end wakes callers: their wakers are somebody else's code, and do not run in there.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use parking_lot::Mutex;

use super::timer::{Relay, Timer};

/// Stands before the waker of a caller, which the channel would run under a lock of its own. A waker may drop the very
/// future that waits there, as that of an executor does which has ended, and the drop needs that lock.
struct Calm {
    waker: Mutex<Option<Waker>>,
    relay: Relay,
}

impl Wake for Calm {
    fn wake(self: Arc<Self>) {
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            self.relay.wake(waker);
        }
    }
}

/// The future, woken by the timer's thread. The timer is borrowed as long as anybody waits here, so it is there to wake.
pub(super) async fn calm<F: Future>(timer: &Timer, future: F) -> F::Output {
    // The channel keeps the same one all the time, and never the last of it: nothing of the caller's is dropped in there.
    let calm = Arc::new(Calm { waker: Mutex::default(), relay: timer.relay() });
    let waker = Waker::from(Arc::clone(&calm));
    let mut future = pin!(future);
    poll_fn(|context| {
        let newest = context.waker().clone();
        let before = calm.waker.lock().replace(newest);
        drop(before);
        future.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}
