# follow30.tcl - follow-the-window, on the network of Zhang's AQM and DoS set-up (github.com/mleoking/LeoDoS):
# dumbbell, 5 Mb/s bottleneck of 6 ms, 10 Mb/s access of 2 ms on both sides, N TCP with a least RTO of 1 s,
# natk attackers.  Every `every` seconds attacker i reads the congestion window of TCP i: its CBR of arate
# bit/s goes on while that is at least `cut` packets, and rests while it is less.
set here [file dirname [file normalize [info script]]]
source $here/common.tcl
array set opt {N 30 bw 5e6 natk 20 arate 250e3 apkt 50 every 0.01 cut 5 astart 5}
getopts {queue DropTail limit 50 tcp Newreno T 100 warm 20 start 1.0
         red.min 10 red.max 40 red.maxp 0.1 red.wq 0.002}
start_sim
set A [$ns node]; set B [$ns node]
proc stub {x} {
    global ns
    set n [$ns node]
    $ns duplex-link $n $x 10Mb 2ms DropTail
    $ns queue-limit $n $x 1000000; $ns queue-limit $x $n 1000000
    return $n
}
proc add_attacker {s d} {        ;# silent until it looks
    global opt ns NF flow
    set fid $NF; incr NF
    set u [new Agent/UDP]; set k [new Agent/LossMonitor]
    $u set fid_ $fid; $u set packetSize_ $opt(apkt)
    $ns attach-agent $s $u; $ns attach-agent $d $k; $ns connect $u $k
    set c [new Application/Traffic/CBR]; $c attach-agent $u
    $c set packetSize_ $opt(apkt); $c set rate_ $opt(arate); $c set random_ 0
    set flow($fid,type) udp; set flow($fid,src) $u; set flow($fid,dst) $k
    return $c
}
proc look {i} {
    global opt ns flow flood sends
    set wide [expr {[$flow($i,src) set cwnd_] >= $opt(cut)}]
    if {$wide != $sends($i)} { $flood($i) [expr {$wide ? "start" : "stop"}]; set sends($i) $wide }
    $ns at [expr {[$ns now] + $opt(every)}] "look $i"
}
bottleneck $A $B $opt(bw) 6ms
for {set i 0} {$i < $opt(N)} {incr i} { add_tcp [stub $A] [stub $B] {} {minrto_ 1} }
for {set i 0} {$i < $opt(natk)} {incr i} {
    set flood($i) [add_attacker [stub $A] [stub $B]]; set sends($i) 0
    $ns at $opt(astart) "look $i"
}
run_sim
