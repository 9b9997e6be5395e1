//! AVIC, as a hypervisor uses it.
