# sfb400.tcl - the evaluation network of feng2001 (Stochastic Fair Blue).
#  n0..n4 -100Mb- A =45Mb= B -45Mb- C -100Mb- n5..n9, every link 10 ms (delays=equal)
#  or the per-link delays drawn in Fig 2(b) (delays=fig).  N TCP + nudp CBR from
#  random n0..n4 to random n5..n9; the queue under test is A->B.
set here [file dirname [file normalize [info script]]]
source $here/common.tcl
# apart: access link i is faster by i times this part (overhead.py)
array set opt {N 400 bw 45e6 delays equal scaleaccess 1 apart 0}
getopts {queue RED  limit 200  udp 2e6  tcp Newreno  T 100  warm 20  start 1.0
         red.min 40 red.max 160 red.maxp 0.1 red.wq 0.002}
start_sim
set N $opt(N); set bw $opt(bw)
set A [$ns node]; set B [$ns node]; set C [$ns node]
set abw [expr {100e6*($opt(scaleaccess) ? max(1.0,$bw/45e6) : 1.0)}]
if {$opt(delays) eq "equal"} { set dl {10 10 10 10 10}; set dr {10 10 10 10 10} } else { set dl {1 1 5 20 20}; set dr {5 5 5 20 20} }
for {set i 0} {$i < 5} {incr i} {
    set s($i) [$ns node]; set d($i) [$ns node]
    set own [expr {$abw*(1+$opt(apart)*$i)}]
    $ns duplex-link $s($i) $A $own [lindex $dl $i]ms DropTail
    $ns duplex-link $C $d($i) $own [lindex $dr $i]ms DropTail
    foreach {x y} [list $s($i) $A $A $s($i) $C $d($i) $d($i) $C] { $ns queue-limit $x $y 1000000 }
}
bottleneck $A $B $bw 10ms
$ns duplex-link $B $C $bw 10ms DropTail
$ns queue-limit $B $C 1000000; $ns queue-limit $C $B 1000000
proc ends {} {
    global opt ns s d rng
    set x $s([expr {int([$rng uniform 0 5])}]); set y $d([expr {int([$rng uniform 0 5])}])
    if {!$opt(leaf)} { return [list $x $y] }
    # leaf=1: a node of its own for either end, since ns-2's SFQ and DRR tell flows apart by their nodes
    set a [$ns node]; set b [$ns node]
    $ns duplex-link $a $x 10Gb 0ms DropTail; $ns duplex-link $y $b 10Gb 0ms DropTail
    foreach {p q} [list $a $x $x $a $y $b $b $y] { $ns queue-limit $p $q 1000000 }
    return [list $a $b]
}
for {set i 0} {$i < $N} {incr i} { foreach {x y} [ends] break; add_tcp $x $y }
if {$opt(udp) > 0} { for {set i 0} {$i < $opt(nudp)} {incr i} { foreach {x y} [ends] break; add_udp $x $y $opt(udp) } }
run_sim
