//! A thread that wakes futures at their time, so that limits hold on any runtime.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::contain::contain;
use crate::{Clock, SystemClock};

/// A moment on the system's monotonic clock; none where it lies further ahead than that clock can count.
pub(super) type Deadline = Option<Duration>;

/// The moment on that clock.
pub(super) fn now() -> Duration {
    SystemClock.monotonic()
}

/// When a limit that begins now is over.
pub(super) fn deadline_in(limit: Duration) -> Deadline {
    now().checked_add(limit)
}

/// Whether a deadline is over.
pub(super) fn is_over(deadline: Deadline) -> bool {
    deadline.is_some_and(|deadline| now() >= deadline)
}

/// The thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Timer {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By when they are to be woken, and told apart by a number.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    next: u64,
    stopped: bool,
}

impl Timer {
    /// Starts the thread.
    pub(super) fn spawn(name: &str) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        thread::Builder::new().name(format!("{name}-timer")).spawn(move || own.run())?;
        Ok(Self { shared })
    }

    /// What comes of `act` if that is before the deadline. It is looked at first, so that what is there counts.
    pub(super) async fn before<T>(&self, deadline: Deadline, act: impl Future<Output = T>) -> Option<T> {
        let mut sleep = Sleep { shared: &self.shared, deadline, entry: None };
        let mut act = pin!(act);
        poll_fn(|context| match act.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => Pin::new(&mut sleep).poll(context).map(|()| None),
        })
        .await
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn run(&self) {
        let mut state = self.state.lock();
        while !state.stopped {
            let now = now();
            match state.sleepers.first_key_value() {
                None => self.changed.wait(&mut state),
                Some((&(due, _), _)) if due > now => {
                    self.changed.wait_for(&mut state, due.saturating_sub(now));
                }
                Some(_) => {
                    let Some((_, waker)) = state.sleepers.pop_first() else { continue };
                    drop(state);
                    // Somebody else's code: whatever it does, the others are woken.
                    let _ = contain(|| waker.wake());
                    state = self.state.lock();
                }
            }
        }
    }
}

/// Ready when its deadline is over.
struct Sleep<'a> {
    shared: &'a Shared,
    deadline: Deadline,
    entry: Option<(Duration, u64)>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        if is_over(self.deadline) {
            return Poll::Ready(());
        }
        // Somebody else's code: made here, and below the one from before dropped, without the lock.
        let waker = context.waker().clone();
        let mut state = self.shared.state.lock();
        let entry = self.entry.unwrap_or_else(|| {
            state.next = state.next.wrapping_add(1);
            (deadline, state.next)
        });
        // One that was woken is no longer there, and is put back.
        let before = state.sleepers.insert(entry, waker);
        let is_first = state.sleepers.first_key_value().is_some_and(|(first, _)| *first == entry);
        drop(state);
        drop(before);
        self.entry = Some(entry);
        if is_first {
            self.shared.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            let waker = self.shared.state.lock().sleepers.remove(&entry);
            // Dropped without the lock: it is somebody else's code.
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::worker::block::block_on;

    #[test]
    fn what_is_there_counts_even_when_the_time_is_over() {
        let timer = Timer::spawn("test").unwrap();
        let over = Some(Duration::ZERO);
        assert_eq!(block_on(timer.before(over, async { 5 })), Some(5));
        assert_eq!(block_on(timer.before(over, pending::<()>())), None);
    }

    #[test]
    fn sleepers_are_woken_in_any_order_and_leave_nothing_behind() {
        let timer = Timer::spawn("test").unwrap();
        let timer = &timer;
        thread::scope(|scope| {
            for ms in [30, 1, 20, 5, 10] {
                scope.spawn(move || {
                    let deadline = deadline_in(Duration::from_millis(ms));
                    assert_eq!(block_on(timer.before(deadline, pending::<()>())), None);
                    assert!(is_over(deadline));
                });
            }
        });
        assert!(timer.shared.state.lock().sleepers.is_empty());
    }

    /// Notes whether the timer is locked when it is dropped. That may drop a task with a sleep of its own, which locks.
    struct Looks(Arc<Shared>, Arc<AtomicUsize>);

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Looks {
        fn drop(&mut self) {
            assert!(self.0.state.try_lock().is_some(), "dropped under the timer's lock");
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_waker_that_makes_room_for_another_is_dropped_without_the_lock() {
        let timer = Timer::spawn("test").unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let mut waits = Box::pin(timer.before(deadline_in(Duration::from_secs(60)), pending::<()>()));
        for polls in 0..3 {
            assert_eq!(dropped.load(Ordering::SeqCst), polls.max(1) - 1);
            let waker = Waker::from(Arc::new(Looks(Arc::clone(&timer.shared), Arc::clone(&dropped))));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(waits);
        assert_eq!(dropped.load(Ordering::SeqCst), 3);
    }

    // C10: the kind of it, sums of times that are too large.
    #[test]
    fn c10_a_limit_without_end_is_never_over() {
        assert_eq!(deadline_in(Duration::MAX), None);
        assert!(!is_over(None));
        let timer = Timer::spawn("test").unwrap();
        let mut polls = 0;
        let act = poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
        });
        assert_eq!(block_on(timer.before(None, act)), Some(()));
    }
}
