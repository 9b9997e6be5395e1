//! Reports: a window's table, all traps, and where a vCPU was.

use crate::core_block::CoreBlock;
use crate::outbox::Outbox;
use crate::records;
use hv_core::account::Row;
use hv_core::last_exits::KEPT;
use trapline_abi::record::{Durations, Level, Record};

/// The window that has just ended, its rows in the order of their keys.
pub fn window(core: &mut CoreBlock, ticks: u64) {
    let vcpu = core.vcpu.index as u16;
    let label = *core.window.label();
    let rows = core.account.window().count() as u32;
    core.outbox.put(&Record::Window { vcpu, label: label.as_str(), ticks, rows });
    let mut last = None;
    while let Some(row) = core
        .account
        .window()
        .filter(|row| last.is_none_or(|last| row.key > last))
        .min_by_key(|row| row.key)
    {
        exit(core.outbox, row);
        last = Some(row.key);
    }
    core.account.merge_window();
    order(core);
}

/// In which order the window's exits came; the end mark behind them is none of them.
fn order(core: &mut CoreBlock) {
    let mut bytes = [0u8; KEPT * 8];
    let exits = core.last_exits.since(core.window.first());
    let count = exits.len().saturating_sub(1);
    for (to, exit) in bytes.chunks_exact_mut(8).zip(exits.take(count)) {
        to.copy_from_slice(&exit.key.0.to_le_bytes());
    }
    let vcpu = core.vcpu.index as u16;
    core.outbox.put(&Record::Order { vcpu, keys: &bytes[..count * 8] });
}

fn exit(outbox: &mut Outbox, row: &Row) {
    let mut bytes = [0u8; 64 * 4];
    for (to, count) in bytes.chunks_exact_mut(4).zip(row.histogram) {
        to.copy_from_slice(&count.to_le_bytes());
    }
    let used = row.histogram.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let durations = Durations {
        count: row.count(),
        sum: row.sum,
        sum_squares: row.sum_squares,
        min: row.min,
        max: row.max,
        histogram: &bytes[..used * 4],
    };
    outbox.put(&Record::Exit { key: row.key.0, durations });
}

/// All traps of the scenario by code.
pub fn traps(core: &mut CoreBlock) {
    let vcpu = core.vcpu.index as u16;
    if core.model_plays {
        for (code, count) in core.traps.counts() {
            records::put(&Record::Traps { vcpu, code, count });
        }
    } else {
        core.account.traps(|code, count| records::put(&Record::Traps { vcpu, code, count }));
    }
    if core.account.folded() {
        let text = format_args!("more details than rows: some are counted under their exit code");
        records::log(Level::Warn, text);
    }
}

/// Ends the accounts of a scenario.
pub fn close(core: &mut CoreBlock) {
    // The last exit has no next entry: count it with no duration.
    core.account.close(core.exited_at);
    if core.account.in_window() {
        core.account.end_window();
        core.account.merge_window();
        let text = "a window was still open at the end";
        core.outbox.put(&Record::Log { level: Level::Warn, text });
    }
}

/// Where the vCPU was.
pub fn postmortem(core: &mut CoreBlock) {
    let save = core.world.vmcb().save;
    let shadow = core.world.vmcb().control.interrupt_shadow & 1 != 0;
    let lapic = &core.vcpu.lapic;
    let (mut irr, mut isr) = ([0; 32], [0; 32]);
    for (bytes, words) in [(&mut irr, lapic.irr()), (&mut isr, lapic.isr())] {
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
    }
    records::put(&Record::Postmortem {
        vcpu: core.vcpu.index as u16,
        rip: save.rip,
        rsp: save.rsp,
        rflags: save.rflags,
        cr2: save.cr2,
        interrupt_shadow: shadow,
        halted: core.left == crate::core_block::Left::Block,
        tpr: lapic.tpr(),
        ppr: lapic.ppr(),
        irr: &irr,
        isr: &isr,
        last: core.last_exits.iter().len() as u32,
    });
    let offset = core.vm.clock.offset;
    for exit in core.last_exits.iter() {
        let at = exit.at.wrapping_add(offset);
        records::put(&Record::Last { key: exit.key.0, rip: exit.rip, at });
    }
}
