use super::*;

const EVERYTHING: Offer = Offer { features: u32::MAX, hints: 0 };

fn kernel(driver: Driver, features: u32) -> Kernel {
    Kernel { driver, offer: Some(Offer { features, hints: 0 }), cpus: 4 }
}

#[test]
fn pvi_1_bit_11_and_a_second_cpu_and_nothing_else_decide() {
    let with = |offer, cpus| Kernel { driver: Driver::Physical, offer, cpus }.uses_pv_ipi();
    assert!(with(Some(EVERYTHING), 2));
    assert!(!with(Some(EVERYTHING), 1));
    assert!(!with(None, 2));
    assert!(!with(Some(Offer { features: !feature::PV_IPI, hints: 0 }), 2));
    assert!(with(Some(Offer { features: feature::PV_IPI, hints: u32::MAX }), 2));
}

#[test]
fn pvi_1_one_cpu_is_a_mask_to_the_flat_driver_alone() {
    let way = |driver, features| kernel(driver, features).way(0, Send::One(2));
    for driver in [Driver::Physical, Driver::Cluster] {
        assert_eq!(way(driver, feature::PV_IPI), Way::Commands(0b100));
        assert_eq!(way(driver, 0), Way::Commands(0b100));
    }
    assert_eq!(way(Driver::Flat, feature::PV_IPI), Way::Hypercall(0b100));
    assert_eq!(way(Driver::Flat, 0), Way::Mask(0b100));
}

#[test]
fn pvi_1_masks_go_by_hypercall_or_as_the_driver_can() {
    let way = |driver, features| kernel(driver, features).way(0, Send::Call(0b1100));
    for driver in [Driver::Physical, Driver::Flat, Driver::Cluster] {
        assert_eq!(way(driver, feature::PV_IPI), Way::Hypercall(0b1100));
    }
    assert_eq!(way(Driver::Physical, 0), Way::Commands(0b1100));
    assert_eq!(way(Driver::Flat, 0), Way::Mask(0b1100));
    assert_eq!(way(Driver::Cluster, 0), Way::Mask(0b1100));
}

#[test]
fn pvi_2_all_others_are_a_shorthand() {
    for driver in [Driver::Physical, Driver::Flat, Driver::Cluster] {
        let kernel = kernel(driver, feature::PV_IPI);
        assert_eq!(kernel.way(0, Send::Call(0b1110)), Way::Shorthand);
        assert_eq!(kernel.way(2, Send::Call(0b1011)), Way::Shorthand);
        assert_eq!(kernel.way(2, Send::Call(0b1110)), Way::Hypercall(0b1110));
    }
}

#[test]
fn pvi_4_yields_need_steal_time_and_no_hint() {
    let yields = |features, hints, cpus| {
        Kernel { driver: Driver::Physical, offer: Some(Offer { features, hints }), cpus }.yields()
    };
    let both = feature::SCHED_YIELD | feature::STEAL_TIME;
    assert!(yields(both, 0, 2));
    assert!(!yields(both, feature::HINT_REALTIME, 2));
    assert!(!yields(both, 0, 1));
    assert!(!yields(feature::SCHED_YIELD, 0, 2) && !yields(feature::STEAL_TIME, 0, 2));
}

#[test]
fn pvi_5_locks_need_the_kick_and_no_hint() {
    let locks = |features, hints, cpus| {
        let offer = Some(Offer { features, hints });
        Kernel { driver: Driver::Physical, offer, cpus }.uses_pv_locks()
    };
    assert!(locks(feature::PV_UNHALT, 0, 2));
    assert!(!locks(feature::PV_UNHALT, feature::HINT_REALTIME, 2));
    assert!(!locks(feature::PV_UNHALT, 0, 1));
    assert!(!locks(!feature::PV_UNHALT, 0, 2));
}
