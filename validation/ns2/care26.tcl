# care26.tcl - the network of CARE (capture-recapture), section V: dumbbell, 10 Mb/s
# bottleneck, 100 Mb/s access, 2 ms links, 1000-byte packets, N TCP of seven kinds
# + one CBR at udp bit/s (greatest flow id).
#  mix=paper : 10% 10ms-latency, 10% standard, 10% binomial(1,.5,k0,l1),
#              10% binomial(1.5,1,k2,l0), 20% AIMD(2,.5), 20% AIMD(.75,.31), 20% AIMD(1,.9)
#  Tuples are read as (increase_num_, decrease_num_); ns-2's decrease_num_ is the
#  fraction of the window KEPT for AIMD.  For binomial ns-2 uses W -= (1-decrease_num_) W^l,
#  so beta=1 is decrease_num_ 0; binlit=1 sets decrease_num_ to the literal 1.0.
set here [file dirname [file normalize [info script]]]
source $here/common.tcl
array set opt {N 25 bw 10e6 mix std binlit 0}
getopts {queue RED limit 100 udp 1e6 tcp Newreno T 600 warm 100 start 1.0
         red.min 20 red.max 80 red.maxp 0.1 red.wq 0.002}
start_sim
set A [$ns node]; set B [$ns node]
proc stub {x lat side} {
    global ns
    set n [$ns node]
    $ns duplex-link $n $x 100Mb $lat DropTail
    $ns queue-limit $n $x 1000000; $ns queue-limit $x $n 1000000
    return $n
}
bottleneck $A $B $opt(bw) 2ms
set bb [expr {$opt(binlit) ? 1.0 : 0.0}]
set kinds [list \
    lat10 10 {}  std 10 {} \
    binA 10 {windowOption_ 6 increase_num_ 1.0 decrease_num_ 0.5 k_parameter_ 0 l_parameter_ 1} \
    binB 10 [list windowOption_ 6 increase_num_ 1.5 decrease_num_ $bb k_parameter_ 2 l_parameter_ 0] \
    aimd2_.5 20 {increase_num_ 2 decrease_num_ 0.5} \
    aimd.75_.31 20 {increase_num_ 0.75 decrease_num_ 0.31} \
    aimd1_.9 20 {increase_num_ 1 decrease_num_ 0.9}]
set classes {}; set prev {}
for {set i 0} {$i < $opt(N)} {incr i} {
    set pos [expr {100.0*($i+0.5)/$opt(N)}]; set acc 0
    foreach {name pct set} $kinds { incr acc $pct; if {$pos < $acc} break }
    if {$opt(mix) eq "std"} { set name std; set set {} }
    set lat [expr {$name eq "lat10" ? "10ms" : "2ms"}]
    set fid [add_tcp [stub $A $lat l] [stub $B 2ms r] {} $set]
    if {$name ne $prev} { lappend classes $name $fid $fid; set prev $name } else { lset classes end $fid }
}
if {$opt(udp) > 0} { set fid [add_udp [stub $A 2ms l] [stub $B 2ms r] $opt(udp)]; lappend classes udp $fid $fid }
run_sim
