use super::*;
use crate::memory::tests::Ram;

#[test]
fn xen_10_the_hypercall_page_is_code_for_every_number_but_iret() {
    let ram = Ram::new(0x4000);
    ram.put(0x2000 + 12 * 32 + 9, &[0x77]);
    let page = hypercall_page::at(0x2000, 0x4000).unwrap();
    hypercall_page::write(&ram, page);
    let slot = |n: usize| ram.0.borrow()[0x2000 + n * 32..][..9].to_vec();
    for n in [0, 12, 34, 127] {
        assert_eq!(slot(n), [0xb8, n as u8, 0, 0, 0, 0x0f, 0x01, 0xd9, 0xc3], "slot {n}");
    }
    assert_eq!(slot(23)[..2], [0x0f, 0x0b]);
    assert_eq!(ram.0.borrow()[0x2000 + 12 * 32 + 9], 0x77, "beside the code nothing changes");
    assert!(hypercall_page::at(0x2001, 0x4000).is_err(), "there is one page only");
    assert!(hypercall_page::at(0x4000, 0x4000).is_err(), "outside RAM");
}

#[test]
fn the_shared_info_page_is_new_where_it_comes_first_and_moves_with_what_it_holds() {
    let ram = Ram::new(0x4000);
    ram.put(0x1000, &[0xff; 4096]);
    let domain = Domain::new();
    assert!(!domain.map_shared_info(&ram, 4), "outside RAM");
    assert!(!domain.map_shared_info(&ram, u64::MAX));
    assert!(!domain.is_upcall_pending(&ram, 0), "there is none yet");
    assert!(domain.map_shared_info(&ram, 1));
    assert_eq!(ram.0.borrow()[0x1000..0x2000], [0; 4096]);
    let page = domain.shared_info().unwrap();
    assert!(page.raise(&ram, 1, 3));
    assert!(domain.map_shared_info(&ram, 2));
    assert!(domain.is_upcall_pending(&ram, 3));
    assert_eq!(ram.0.borrow()[0x2000 + 3 * 64], 1);
}

#[test]
fn xen_7_an_event_sets_bit_selector_and_flag_and_tells_only_once() {
    let ram = Ram::new(0x2000);
    let page = SharedInfo(0x1000);
    let word = |at: u64| ram.read_u64(0x1000 + at).unwrap();
    assert!(page.raise(&ram, 5, 2), "the first event of the vCPU");
    assert_eq!(word(2048), 1 << 5);
    assert_eq!((word(128), word(136)), (1, 1));
    assert!(!page.raise(&ram, 5, 2), "that port has one already");
    assert!(!page.raise(&ram, 6, 2), "the vCPU knows");
    assert_eq!(word(2048), 3 << 5);
    // The guest's part: flag, selector, port.
    ram.put(0x1080, &[0]);
    ram.put(0x1088, &[0; 8]);
    ram.put(0x1800, &[1 << 6]);
    assert!(page.raise(&ram, 5, 2));
    // A handler that has cleared the flag, and not yet the selector, will see the port.
    ram.put(0x1080, &[0]);
    ram.put(0x1800, &[0]);
    assert!(!page.raise(&ram, 5, 2));
    assert_eq!(word(128), 0);
}

#[test]
fn xen_7_a_masked_port_keeps_its_event_until_it_is_unmasked() {
    let ram = Ram::new(0x2000);
    let page = SharedInfo(0x1000);
    ram.put(0x1a00, &[1 << 5]);
    assert!(!page.raise(&ram, 5, 0));
    assert_eq!(ram.read_u64(0x1800), Some(1 << 5));
    assert!(!page.is_upcall_pending(&ram, 0));
    assert!(page.unmask(&ram, 5, 0));
    assert_eq!(ram.read_u64(0x1a00), Some(0));
    assert!(page.is_upcall_pending(&ram, 0));
    assert!(!page.unmask(&ram, 5, 0), "it was not masked");
    page.forget(&ram, 5);
    assert_eq!(ram.read_u64(0x1800), Some(0));
}

#[test]
fn ports_are_given_out_from_1_and_given_again_when_closed() {
    let mut ports = Ports::new();
    for port in 1..64 {
        assert_eq!(ports.bind_ipi(port % 3), Some(port));
    }
    assert_eq!(ports.bind_ipi(0), None);
    assert!(ports.close(7));
    assert!(!ports.close(7));
    assert!(!ports.close(0) && !ports.close(64));
    assert_eq!(ports.bind_ipi(1), Some(7));
    assert_eq!(ports.get(7), Some(ports::Port::Ipi { vcpu: 1 }));
    assert_eq!(ports.get(64), None);
}
