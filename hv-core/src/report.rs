//! Reports: a window's table, all traps, and where a vCPU was.

use crate::outbox::Outbox;
use crate::records;
use crate::vcpu_block::VcpuBlock;
use hv_core::account::Row;
use hv_core::last_exits::KEPT;
use trapline_abi::record::{Durations, Level, Record};

/// The window that has just ended, its rows in the order of their keys.
pub fn window(block: &mut VcpuBlock, ticks: u64) {
    let vcpu = block.vcpu.index as u16;
    let label = *block.window.label();
    let rows = block.account.window().count() as u32;
    block.outbox.put(&Record::Window { vcpu, label: label.as_str(), ticks, rows });
    let mut last = None;
    while let Some(row) = block
        .account
        .window()
        .filter(|row| last.is_none_or(|last| row.key > last))
        .min_by_key(|row| row.key)
    {
        exit(block.outbox, row);
        last = Some(row.key);
    }
    block.account.merge_window();
    order(block);
}

/// In which order the window's exits came; the end mark behind them is none of them.
fn order(block: &mut VcpuBlock) {
    let mut bytes = [0u8; KEPT * 8];
    let exits = block.last_exits.since(block.window.first());
    let count = exits.len().saturating_sub(1);
    for (to, exit) in bytes.chunks_exact_mut(8).zip(exits.take(count)) {
        to.copy_from_slice(&exit.key.0.to_le_bytes());
    }
    let vcpu = block.vcpu.index as u16;
    block.outbox.put(&Record::Order { vcpu, keys: &bytes[..count * 8] });
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
pub fn traps(block: &mut VcpuBlock) {
    let vcpu = block.vcpu.index as u16;
    block.account.traps(|code, count| records::put(&Record::Traps { vcpu, code, count }));
    if block.account.folded() {
        let text = format_args!("more details than rows: some are counted under their exit code");
        records::log(Level::Warn, text);
    }
}

/// Ends the accounts of a scenario.
pub fn close(block: &mut VcpuBlock) {
    // The last exit has no next entry: count it with no duration.
    block.account.close(block.exited_at);
    if block.account.in_window() {
        block.account.end_window();
        block.account.merge_window();
        let text = "a window was still open at the end";
        block.outbox.put(&Record::Log { level: Level::Warn, text });
    }
}

/// Where the vCPU was.
pub fn postmortem(block: &mut VcpuBlock) {
    let save = block.world.vmcb().save;
    let shadow = block.world.vmcb().control.interrupt_shadow & 1 != 0;
    let lapic = &block.vcpu.lapic;
    let (mut irr, mut isr) = ([0; 32], [0; 32]);
    for (bytes, words) in [(&mut irr, lapic.irr()), (&mut isr, lapic.isr())] {
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
    }
    records::put(&Record::Postmortem {
        vcpu: block.vcpu.index as u16,
        rip: save.rip,
        rsp: save.rsp,
        rflags: save.rflags,
        cr2: save.cr2,
        interrupt_shadow: shadow,
        halted: block.left == crate::vcpu_block::Left::Block,
        tpr: lapic.tpr(),
        ppr: lapic.ppr(),
        irr: &irr,
        isr: &isr,
        last: block.last_exits.iter().len() as u32,
    });
    let offset = block.vm.clock.offset;
    for exit in block.last_exits.iter() {
        let at = exit.at.wrapping_add(offset);
        records::put(&Record::Last { key: exit.key.0, rip: exit.rip, at });
    }
}
