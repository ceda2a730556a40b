//! The ledger: who holds a device's bytes. Pure.
//!
//! Invariant, per device: free + granted + resident + retained + quarantined =
//! capacity. Free is what is left over, and below zero after a capacity shrank
//! under what is held; nothing is taken away for that, and nothing granted.

use crate::error::Error;

/// The most devices of one backend.
pub(crate) const MOST_DEVICES: usize = 64;

/// The largest capacity of one device: sums of all devices stay countable.
pub(crate) const MOST_CAPACITY_BYTES: u64 = 1 << 56;

/// One device of the ledger, by its place in the builder's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DeviceIndex(u8);

impl DeviceIndex {
    /// The place as a number, for tables kept beside the ledger.
    pub(crate) fn place(self) -> usize {
        usize::from(self.0)
    }
}

/// A set of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct DeviceSet(u64);

impl DeviceSet {
    /// Adds `device`.
    pub(crate) fn insert(&mut self, device: DeviceIndex) {
        self.0 |= 1 << device.0;
    }

    /// True if `device` is in the set.
    pub(crate) fn contains(self, device: DeviceIndex) -> bool {
        self.0 & (1 << device.0) != 0
    }

    /// True if every device of this set is in `other`.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// True if no device is in the set.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The devices of both sets.
    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One device's account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) ordinal: u32,
    pub(crate) generation: u64,
    pub(crate) capacity_bytes: u64,
    pub(crate) granted_bytes: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) retained_bytes: u64,
    pub(crate) quarantined_bytes: u64,
    /// Attempts that hold a grant.
    pub(crate) running: u32,
    /// How many may.
    pub(crate) most_running: u32,
    /// The device is in service.
    pub(crate) is_open: bool,
    /// The end of an attempt's work here is proven by its owner alone.
    pub(crate) is_ledger_only: bool,
}

impl Account {
    /// An unused account of an open device.
    pub(crate) fn new(ordinal: u32, capacity_bytes: u64, most_running: u32) -> Self {
        Self {
            ordinal,
            generation: 1,
            capacity_bytes,
            granted_bytes: 0,
            resident_bytes: 0,
            retained_bytes: 0,
            quarantined_bytes: 0,
            running: 0,
            most_running,
            is_open: true,
            is_ledger_only: true,
        }
    }

    /// Bytes that nobody holds; below zero after the capacity shrank.
    pub(crate) fn free_bytes(&self) -> i64 {
        let held =
            self.granted_bytes + self.resident_bytes + self.retained_bytes + self.quarantined_bytes;
        signed(self.capacity_bytes).saturating_sub(signed(held))
    }

    /// The most that a grant could ever be while the residents stay.
    pub(crate) fn givable_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.resident_bytes)
    }

    /// A grant of `bytes` may come here once others return theirs.
    pub(crate) fn is_hopeful(&self, bytes: u64) -> bool {
        let kept = self.resident_bytes + self.retained_bytes + self.quarantined_bytes;
        self.is_open && bytes <= self.capacity_bytes.saturating_sub(kept)
    }

    /// A grant of `bytes` can be placed now.
    fn fits(&self, bytes: u64) -> bool {
        self.is_open && self.running < self.most_running && signed(bytes) <= self.free_bytes()
    }
}

/// All devices' accounts.
#[derive(Debug)]
pub(crate) struct Ledger {
    accounts: Vec<Account>,
}

impl Ledger {
    /// A ledger of at most [`MOST_DEVICES`] accounts; more are not kept.
    pub(crate) fn new(mut accounts: Vec<Account>) -> Self {
        accounts.truncate(MOST_DEVICES);
        Self { accounts }
    }

    /// Every device, in order.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (DeviceIndex, &Account)> {
        (0..).map(DeviceIndex).zip(&self.accounts)
    }

    /// The device with this ordinal.
    pub(crate) fn find(&self, ordinal: u32) -> Option<DeviceIndex> {
        self.devices()
            .find(|(_, account)| account.ordinal == ordinal)
            .map(|(device, _)| device)
    }

    /// One device's account.
    pub(crate) fn account(&self, device: DeviceIndex) -> &Account {
        &self.accounts[device.place()]
    }

    /// The first device of `devices`, in order and outside `blocked`, on which
    /// a grant of `bytes` can be placed now.
    pub(crate) fn placement(
        &self,
        bytes: u64,
        devices: DeviceSet,
        blocked: DeviceSet,
    ) -> Option<DeviceIndex> {
        self.devices()
            .filter(|(device, _)| devices.contains(*device) && !blocked.contains(*device))
            .find(|(_, account)| account.fits(bytes))
            .map(|(device, _)| device)
    }

    /// The devices of `devices` that may yet take `bytes`.
    pub(crate) fn hopeful(&self, bytes: u64, devices: DeviceSet) -> DeviceSet {
        self.select(|device, account| devices.contains(device) && account.is_hopeful(bytes))
    }

    /// The devices that `keep` chooses.
    pub(crate) fn select(&self, keep: impl Fn(DeviceIndex, &Account) -> bool) -> DeviceSet {
        let mut chosen = DeviceSet::default();
        for (device, account) in self.devices() {
            if keep(device, account) {
                chosen.insert(device);
            }
        }
        chosen
    }

    /// Why a request can never be granted as the devices stand; `None` if it can.
    pub(crate) fn refusal(&self, bytes: u64, devices: DeviceSet) -> Option<Error> {
        if devices.is_empty() {
            let devices = u32::try_from(self.accounts.len()).unwrap_or(u32::MAX);
            return Some(Error::NoCapableDevice { devices });
        }
        let capable = || {
            self.devices()
                .filter(|(device, _)| devices.contains(*device))
                .map(|(_, account)| account)
        };
        let largest_bytes = capable().map(Account::givable_bytes).max().unwrap_or(0);
        if bytes > largest_bytes {
            return Some(Error::NeverFits {
                requested_bytes: bytes,
                largest_bytes,
            });
        }
        let large_enough = || capable().filter(|account| bytes <= account.givable_bytes());
        if large_enough().any(|account| account.is_open) {
            return None;
        }
        let capable = u32::try_from(large_enough().count()).unwrap_or(u32::MAX);
        Some(Error::NoHealthyDevice { capable })
    }

    /// Places a grant.
    pub(crate) fn grant(&mut self, device: DeviceIndex, bytes: u64) {
        let account = &mut self.accounts[device.place()];
        account.granted_bytes += bytes;
        account.running += 1;
    }

    /// Ends a grant; `retained_bytes` of it are still held by somebody's buffer.
    pub(crate) fn give_back(&mut self, device: DeviceIndex, bytes: u64, retained_bytes: u64) {
        let account = &mut self.accounts[device.place()];
        account.granted_bytes = account.granted_bytes.saturating_sub(bytes);
        account.retained_bytes += retained_bytes.min(bytes);
        account.running = account.running.saturating_sub(1);
    }

    /// The buffers that held retained bytes are gone.
    pub(crate) fn give_back_retained(&mut self, device: DeviceIndex, bytes: u64) {
        let account = &mut self.accounts[device.place()];
        account.retained_bytes = account.retained_bytes.saturating_sub(bytes);
    }

    /// Moves a grant's bytes to the quarantine; its place among the running is free.
    pub(crate) fn quarantine(&mut self, device: DeviceIndex, bytes: u64) {
        let account = &mut self.accounts[device.place()];
        account.granted_bytes = account.granted_bytes.saturating_sub(bytes);
        account.quarantined_bytes += bytes;
        account.running = account.running.saturating_sub(1);
    }

    /// A late proof frees quarantined bytes, but for what buffers still hold.
    pub(crate) fn give_back_quarantined(
        &mut self,
        device: DeviceIndex,
        bytes: u64,
        retained_bytes: u64,
    ) {
        let account = &mut self.accounts[device.place()];
        account.quarantined_bytes = account.quarantined_bytes.saturating_sub(bytes);
        account.retained_bytes += retained_bytes.min(bytes);
    }

    /// Reserves resident bytes.
    ///
    /// # Errors
    /// `ReservationRefused` when they do not fit beside what is held.
    pub(crate) fn reserve(&mut self, device: DeviceIndex, bytes: u64) -> Result<(), Error> {
        let account = &mut self.accounts[device.place()];
        let free = account.free_bytes();
        if signed(bytes) > free {
            return Err(Error::ReservationRefused {
                requested_bytes: bytes,
                free_bytes: u64::try_from(free).unwrap_or(0),
            });
        }
        account.resident_bytes += bytes;
        Ok(())
    }

    /// Ends a resident reservation, but for what buffers still hold.
    pub(crate) fn release(&mut self, device: DeviceIndex, bytes: u64, retained_bytes: u64) {
        let account = &mut self.accounts[device.place()];
        account.resident_bytes = account.resident_bytes.saturating_sub(bytes);
        account.retained_bytes += retained_bytes.min(bytes);
    }

    /// Changes a capacity.
    pub(crate) fn resize(&mut self, device: DeviceIndex, capacity_bytes: u64) {
        self.accounts[device.place()].capacity_bytes = capacity_bytes;
    }

    /// Begins a device's next generation, in service. What is held of the earlier
    /// ones stays charged.
    pub(crate) fn renew(&mut self, device: DeviceIndex) -> u64 {
        let account = &mut self.accounts[device.place()];
        account.generation += 1;
        account.is_open = true;
        account.generation
    }

    /// Takes a device out of service, or back into it.
    pub(crate) fn set_open(&mut self, device: DeviceIndex, is_open: bool) {
        self.accounts[device.place()].is_open = is_open;
    }
}

/// Capacities are bounded far below the signed range; a sum beyond it counts as
/// the largest number.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(all(test, not(runtime_loom)))]
mod tests;
