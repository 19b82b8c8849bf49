//! A thread that wakes futures: at their time, so that limits hold on any runtime, and for those who must not themselves.

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
    /// By when they are to be woken, and told apart by a number. At zero is whoever is to be woken at once.
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

    /// A way to have the thread wake somebody.
    pub(super) fn relay(&self) -> Relay {
        Relay(Arc::clone(&self.shared))
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

/// Takes wakers to the thread, from where somebody else's code must not run. Of no use once the timer is dropped.
#[derive(Debug)]
pub(super) struct Relay(Arc<Shared>);

impl Relay {
    /// Has it woken as soon as may be, and does not wait for that.
    pub(super) fn wake(&self, waker: Waker) {
        let mut state = self.0.state.lock();
        let number = state.number();
        state.sleepers.insert((Duration::ZERO, number), waker);
        drop(state);
        self.0.changed.notify_one();
    }
}

impl State {
    /// Another one each time.
    fn number(&mut self) -> u64 {
        self.next = self.next.wrapping_add(1);
        self.next
    }
}

impl Shared {
    fn run(&self) {
        while let Some(waker) = self.next_due() {
            // Somebody else's code: whatever it does, the others are woken.
            let _ = contain(|| waker.wake());
        }
    }

    /// Waits for the next one that is to be woken. None at the end, and then nobody is left whose time has come.
    fn next_due(&self) -> Option<Waker> {
        let mut state = self.state.lock();
        loop {
            let now = now();
            match state.sleepers.first_key_value().map(|(&(due, _), _)| due) {
                Some(due) if due <= now => return state.sleepers.pop_first().map(|(_, waker)| waker),
                _ if state.stopped => return None,
                Some(due) => {
                    self.changed.wait_for(&mut state, due.saturating_sub(now));
                }
                None => self.changed.wait(&mut state),
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
        let entry = self.entry.unwrap_or_else(|| (deadline, state.number()));
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
    use std::sync::mpsc;
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

    /// Says on which thread it is woken, as soon as it may.
    struct Says(Arc<Mutex<()>>, mpsc::Sender<Option<String>>);

    impl Wake for Says {
        fn wake(self: Arc<Self>) {
            let _held = self.0.lock();
            self.1.send(thread::current().name().map(str::to_owned)).unwrap();
        }
    }

    #[test]
    fn whoever_was_handed_over_is_woken_by_the_thread_even_if_that_is_to_end() {
        let (timer, held) = (Timer::spawn("test").unwrap(), Arc::new(Mutex::new(())));
        let (says, said) = mpsc::channel();
        let relay = timer.relay();
        let hold = held.lock();
        for _ in 0..100 {
            relay.wake(Waker::from(Arc::new(Says(Arc::clone(&held), says.clone()))));
        }
        drop((timer, relay, says));
        drop(hold);
        // It ends when nobody is left who could say anything.
        assert_eq!(said.iter().collect::<Vec<_>>(), vec![Some("test-timer".to_owned()); 100]);
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
