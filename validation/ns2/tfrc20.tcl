# tfrc20.tcl - the network of bare20.tcl with ntfrc TFRC flows and ntcp TCP flows and nothing else. TFRC's packets are
# 1000 bytes on the wire and in its equation (useHeaders_ off), its reports 40. `tfrcjit` spreads the times between its
# packets by that part either way (its overhead_).
set here [file dirname [file normalize [info script]]]
source $here/common.tcl
array set opt {ntfrc 10 ntcp 10 tfrcjit 0 bw 10e6 lat 5ms}
getopts {queue RED limit 120 tcp Newreno T 100 warm 20 start 1.0
         red.min 40 red.max 120 red.maxp 0.1 red.wq 0.002 red.bytes 1}
start_sim
set A [$ns node]; set B [$ns node]
proc stub {x} {
    global ns opt
    set n [$ns node]
    $ns duplex-link $n $x 100Mb $opt(lat) DropTail
    $ns queue-limit $n $x 1000000; $ns queue-limit $x $n 1000000
    return $n
}
bottleneck $A $B $opt(bw) $opt(lat)
for {set i 0} {$i < $opt(ntcp)} {incr i} { add_tcp [stub $A] [stub $B] }
for {set i 0} {$i < $opt(ntfrc)} {incr i} { add_tfrc [stub $A] [stub $B] $opt(tfrcjit) }
run_sim
