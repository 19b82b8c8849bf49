//! Leading one group: decide, append, sync, mark, publish, answer, hand over (I7, I8, I10).

use std::collections::VecDeque;
use std::sync::Arc;

use super::Committer;
use super::group::{Draft, Fit, Overlay};
use super::laps::Laps;
use super::queue::{Phase, Ticket, wake};
use super::request::Work;
use crate::contain::contain;
use crate::engine::Mark;
use crate::error::{Fault, StorageError};
use crate::index::Index;
use crate::journal::{Group, GroupHeader};
use crate::observe::WrittenGroup;

/// Requests in a group, beside the leader's own bookkeeping: kept outside what may panic.
#[derive(Debug, Default)]
struct Members {
    /// Not looked at yet.
    waiting: VecDeque<Arc<Ticket>>,
    /// In the group, each with how much of it was answered before.
    inside: Vec<(Arc<Ticket>, usize)>,
    /// The one that the group had no room for to the end, if any: still to be done.
    unfinished: Option<Arc<Ticket>>,
    /// Whether anything was handed to the engine.
    appended: bool,
}

/// Why a group was not finished.
#[derive(Debug)]
enum Failure {
    /// It was refused before anything was written; the store goes on.
    Refused(StorageError),
    /// Nothing may be written any more.
    Fatal(Fault),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fatal(fault)
    }
}

impl Committer {
    /// Queues a request, leads when it is this caller's turn, and comes back with every answer.
    pub(super) fn submit(&self, work: Work) -> Work {
        let (ticket, mut phase) = match self.queue.enter(work) {
            Ok(entered) => entered,
            Err(answered) => return answered,
        };
        let answered = loop {
            match phase {
                Phase::Done => break ticket.take(),
                // A leader is told how it went like everyone in its group.
                Phase::Lead => self.lead(),
                Phase::Waiting => {}
            }
            phase = match self.queue.wait(&ticket, self.settings.stall_limit) {
                Ok(phase) => phase,
                Err(stalled) => break ticket.answered(&StorageError::OutcomeUnknown(stalled)),
            };
        };
        // Whoever took the leader for hanging says so.
        self.tell_if_poisoned();
        answered
    }

    /// Tells of the first failure, once.
    fn tell_if_poisoned(&self) {
        if let Some(cause) = self.queue.poison_news() {
            self.settings.observers.poisoned(&cause);
        }
    }

    /// Serves one group. Whatever happens in it, everyone in it is answered and somebody or nobody leads.
    fn lead(&self) {
        let mut members = Members::default();
        let served = contain(|| self.serve(&mut members));
        match served {
            Ok(Ok(None)) => self.dismiss(members, 0),
            Ok(Ok(Some(group))) => {
                self.dismiss(members, group.entries);
                self.settings.observers.group_written(&group);
            }
            Ok(Err(Failure::Refused(error))) => {
                for (ticket, progress) in &members.inside {
                    ticket.work().take_back(*progress, &error);
                }
                self.dismiss(members, 0);
            }
            Ok(Err(Failure::Fatal(fault))) => self.fail(members, &fault),
            Err(_) => self.fail(members, &Fault::new("a panic while a group was written")),
        }
    }

    /// Decides and writes a group, and says what it was, if it has entries.
    fn serve(&self, members: &mut Members) -> Result<Option<WrittenGroup>, Failure> {
        let clock = &*self.settings.clock;
        self.queue.gather();
        let now = clock.wall();
        members.waiting = self.queue.take_waiting();
        let mut laps = Laps::start(self.settings.observers.any().then_some(clock));
        let index = self.published();
        let tail = index.tail;
        let time = now.max(tail.time);
        let commands = members.waiting.iter().fold(0, |sum: usize, t| sum.saturating_add(t.commands()));
        let mut draft = Draft::new(&index, &*self.engine, time, self.settings.limits, commands);
        gather(members, &mut draft);
        let Draft { overlay, mut packer, .. } = draft;
        drop(index);
        if packer.is_empty() {
            return Ok(None);
        }
        if let Err(shortage) = self.engine.room() {
            let (available, needed) = (shortage.available, shortage.needed);
            return Err(Failure::Refused(StorageError::DiskFull { available, needed }));
        }
        let group = packer.finish(&GroupHeader {
            store: self.engine.store(),
            first: tail.next,
            chain: tail.chain,
            granted: tail.granted,
            redeemed: tail.redeemed,
            time,
        });
        if let Some(cause) = self.queue.poisoned() {
            // I10: somebody took this leader for hanging while it decided.
            return Err(Failure::Fatal(cause));
        }
        members.appended = true;
        let mut written = WrittenGroup {
            entries: overlay.entries().len() as u64,
            requests: members.inside.len() as u64,
            deciding: laps.lap(),
            ..WrittenGroup::default()
        };
        self.write(&group, tail.next, &mut laps, &mut written)?;
        publish(&mut self.published.write(), &overlay, &group, time);
        Ok(Some(written))
    }

    /// I7: durable before anything that rests on it is seen.
    fn write(
        &self,
        group: &Group,
        first: u64,
        laps: &mut Laps<'_>,
        written: &mut WrittenGroup,
    ) -> Result<(), Fault> {
        self.engine.append(&group.pages)?;
        written.appending = laps.lap();
        self.engine.sync()?;
        written.syncing = laps.lap();
        let next = first.saturating_add(u64::from(group.len));
        self.engine.mark(Mark { next, chain: group.chain.get() })?;
        written.marking = laps.lap();
        Ok(())
    }

    /// Wakes those who are done, and hands over in between: what those ask next who are woken first can be in the next
    /// group, and the others are woken while it is written.
    fn dismiss(&self, members: Members, entries: u64) {
        let Members { waiting, mut inside, unfinished, .. } = members;
        if let Some(unfinished) = &unfinished {
            // Part of it was decided in this group. It is told nothing: the next leader may be at work on it soon.
            inside.retain(|(ticket, _)| !Arc::ptr_eq(ticket, unfinished));
        }
        let left = waiting.len().saturating_add(usize::from(unfinished.is_some()));
        let first = self.queue.expect(left, inside.len());
        // All are told before the first is woken: who waits beside it has an answer, too.
        inside.iter().for_each(|(ticket, _)| ticket.tell(Phase::Done));
        let mut inside = inside.iter().map(|(ticket, _)| &**ticket);
        wake(inside.by_ref().take(first));
        self.queue.hand_over(waiting.into_iter(), unfinished, entries);
        wake(inside);
    }

    /// I10: nothing is written any more. Those whose entries may be on the disk are told that it is not known;
    /// all others, that nothing was attempted.
    fn fail(&self, members: Members, fault: &Fault) {
        self.queue.poison(fault);
        let in_doubt = if members.appended {
            StorageError::OutcomeUnknown(fault.clone())
        } else {
            StorageError::NotAttempted(fault.clone())
        };
        let untouched = StorageError::NotAttempted(fault.clone());
        self.queue.leave();
        for (ticket, progress) in &members.inside {
            let mut work = ticket.work();
            work.take_back(*progress, &in_doubt);
            work.give_up(&untouched);
        }
        for ticket in &members.waiting {
            ticket.work().give_up(&untouched);
        }
        let inside = members.inside.iter().map(|(ticket, _)| ticket);
        let all = inside.chain(&members.waiting).map(Arc::as_ref);
        all.clone().for_each(|ticket| ticket.tell(Phase::Done));
        wake(all);
        self.tell_if_poisoned();
    }
}

/// Takes requests into the group, in order, until one does not fit.
fn gather(members: &mut Members, draft: &mut Draft<'_>) {
    while let Some(ticket) = members.waiting.pop_front() {
        let mut work = ticket.work();
        let progress = work.progress();
        // Noted first: should deciding it panic, it still is answered.
        members.inside.push((Arc::clone(&ticket), progress));
        let fit = draft.decide(&mut work);
        if fit == Fit::Part {
            members.unfinished = Some(Arc::clone(&ticket));
            return;
        }
    }
}

/// Folds a durable group into what everyone sees.
fn publish(index: &mut Index, overlay: &Overlay, group: &Group, time: crate::types::Timestamp) {
    let hasher = index.hasher().clone();
    for pending in overlay.entries() {
        index.receipts.insert(pending.receipt_hash, pending.entry.receipt.number());
    }
    for (first, state) in overlay.accounts() {
        match first.account_place {
            Some(place) => index.accounts.set_at(place, state),
            None => index.accounts.set(&hasher, first.account_hash, first.entry.receipt.account(), state),
        }
    }
    for (first, page) in &group.pages {
        index.pages.push(*first, page.len());
    }
    let tail = &mut index.tail;
    tail.next = tail.next.saturating_add(u64::from(group.len));
    tail.chain = group.chain;
    tail.granted = group.granted;
    tail.redeemed = group.redeemed;
    tail.time = time;
}

#[cfg(test)]
mod tests;
