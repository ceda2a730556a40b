//! Changes of what the devices can give, which the line is checked against.

use super::Book;
use super::entry::{Carried, Moves};
use crate::admission::ledger::{Account, DeviceIndex, DeviceSet};
use crate::admission::request::DeviceFilter;
use crate::attempt::Verdict;
use crate::error::{EndedBy, Error};

impl<C: Carried> Book<C> {
    /// Reserves resident bytes, and ends requests that can no longer fit.
    ///
    /// # Errors
    /// `ReservationRefused` when the bytes are not free; nothing changes then.
    pub(crate) fn reserve(
        &mut self,
        device: DeviceIndex,
        bytes: u64,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) -> Result<(), Error> {
        self.tick(now_ns);
        self.ledger.reserve(device, bytes)?;
        self.recheck(moves);
        Ok(())
    }

    /// Ends a resident reservation.
    ///
    /// `retained_bytes` of them are still held by somebody's buffer.
    pub(crate) fn release_resident(
        &mut self,
        device: DeviceIndex,
        bytes: u64,
        retained_bytes: u64,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        self.ledger.release(device, bytes, retained_bytes);
        self.recheck(moves);
    }

    /// Bytes that a buffer held beyond its attempt are free.
    pub(crate) fn release_retained(
        &mut self,
        device: DeviceIndex,
        bytes: u64,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        self.ledger.give_back_retained(device, bytes);
        self.recheck(moves);
    }

    /// Changes a device's capacity, and ends requests that can no longer fit.
    pub(crate) fn resize(
        &mut self,
        device: DeviceIndex,
        capacity_bytes: u64,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        self.ledger.resize(device, capacity_bytes);
        self.recheck(moves);
    }

    /// Takes a device out of service or back; requests that no device in service
    /// could ever take end at once.
    pub(crate) fn set_open(
        &mut self,
        device: DeviceIndex,
        is_open: bool,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) {
        self.tick(now_ns);
        self.ledger.set_open(device, is_open);
        self.recheck(moves);
    }

    /// Begins the next generation of a device that is out of service; `swap`
    /// exchanges its resources in the same section, and gets the new number.
    ///
    /// # Errors
    /// `LedgerOnly`, or `DeviceInService`; nothing changes then.
    pub(crate) fn recover<R>(
        &mut self,
        device: DeviceIndex,
        swap: impl FnOnce(u64) -> R,
        now_ns: u64,
        moves: &mut Moves<C>,
    ) -> Result<R, Error> {
        self.tick(now_ns);
        let account = self.ledger.account(device);
        let ordinal = account.ordinal;
        if account.is_ledger_only {
            return Err(Error::LedgerOnly { ordinal });
        }
        if account.is_open {
            return Err(Error::DeviceInService { ordinal });
        }
        let swapped = swap(self.ledger.renew(device));
        self.recheck(moves);
        Ok(swapped)
    }

    /// The device with this ordinal.
    pub(crate) fn find(&self, ordinal: u32) -> Option<DeviceIndex> {
        self.ledger.find(ordinal)
    }

    /// The devices that a filter allows.
    pub(crate) fn select(&self, filter: &DeviceFilter) -> DeviceSet {
        self.ledger.select(|_, account| match filter {
            DeviceFilter::Any => true,
            DeviceFilter::Ordinals(ordinals) => ordinals.contains(&account.ordinal),
            DeviceFilter::WithRuntime => !account.is_ledger_only,
            DeviceFilter::LedgerOnly => account.is_ledger_only,
        })
    }

    /// A device's capacity.
    pub(crate) fn capacity_bytes(&self, device: DeviceIndex) -> u64 {
        self.ledger.account(device).capacity_bytes
    }

    /// Every device's account.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.ledger.devices().map(|(_, account)| account)
    }

    fn recheck(&mut self, moves: &mut Moves<C>) {
        let hopeless: Vec<_> = self
            .line
            .iter()
            .filter_map(|(_, waiting)| {
                let error = self.ledger.refusal(waiting.bytes, waiting.devices)?;
                Some((waiting.attempt, error))
            })
            .collect();
        for (id, error) in hopeless {
            self.end_one(id, &Verdict::failed(EndedBy::Rejection, error), moves);
        }
        self.pump(moves);
        self.rearm(moves);
    }
}
