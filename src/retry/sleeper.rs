//! How a wait is spent: what is asked to sleep, and the timer that needs no runtime.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use backon::BlockingSleeper as _;

/// Waits by holding up the thread. A function of a [`Duration`] is one.
///
/// # Examples
///
/// ```
/// use std::cell::Cell;
/// use std::time::Duration;
/// use pointstore::retry::Sleeper;
///
/// let slept = Cell::new(Duration::ZERO);
/// let sleeper = |delay| slept.set(slept.get() + delay);
/// Sleeper::sleep(&sleeper, Duration::from_secs(3));
/// assert_eq!(slept.get(), Duration::from_secs(3));
/// ```
pub trait Sleeper {
    /// Comes back after the delay.
    fn sleep(&self, delay: Duration);
}

impl<F: Fn(Duration)> Sleeper for F {
    fn sleep(&self, delay: Duration) {
        self(delay);
    }
}

/// Waits without holding up the thread. A function from a [`Duration`] to a future is one, such as
/// `tokio::time::sleep`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use pointstore::retry::{AsyncSleeper, Retrier, RetryPolicy, Timer};
///
/// fn accepts(_: impl AsyncSleeper) {}
/// accepts(Timer);
/// accepts(|_: Duration| std::future::ready(())); // Does not wait at all, as in a test.
/// ```
pub trait AsyncSleeper {
    /// What is done after the delay.
    type Sleep: Future<Output = ()>;

    /// Begins to wait.
    fn sleep(&self, delay: Duration) -> Self::Sleep;
}

impl<F, S> AsyncSleeper for F
where
    F: Fn(Duration) -> S,
    S: Future<Output = ()>,
{
    type Sleep = S;

    fn sleep(&self, delay: Duration) -> S {
        self(delay)
    }
}

/// The sleeper that is used unless another is given: the thread's own sleep, and for async code a timer that works on
/// any runtime and on none, with one thread for all timers of the process.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use pointstore::retry::{AsyncSleeper, Sleeper, Timer};
///
/// Sleeper::sleep(&Timer, Duration::from_millis(1));
/// pollster::block_on(AsyncSleeper::sleep(&Timer, Duration::from_millis(1)));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Timer;

impl Sleeper for Timer {
    fn sleep(&self, delay: Duration) {
        backon::StdSleeper.sleep(delay);
    }
}

impl AsyncSleeper for Timer {
    type Sleep = TimerSleep;

    fn sleep(&self, delay: Duration) -> TimerSleep {
        TimerSleep { delay: backon::Sleeper::sleep(&backon::FuturesTimerSleeper, delay.min(LONGEST)) }
    }
}

/// A moment further away than the system's clock can name is taken for this far: 136 years.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// A wait of a [`Timer`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct TimerSleep {
    delay: <backon::FuturesTimerSleeper as backon::Sleeper>::Sleep,
}

impl Future for TimerSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.get_mut().delay).poll(context)
    }
}
