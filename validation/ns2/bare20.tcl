# bare20.tcl - a network after BARE, section IV: 10 Mb/s 5 ms output link, 120 kB FIFO,
# RED in byte mode min 40 kB max 120 kB maxp 0.1, 1000-byte data and 40-byte ACKs,
# ntot flows of which ncbr are CBR at 1 Mb/s (1000 B every 8 ms), the rest NewReno.
# Access links 100 Mb/s 5 ms.  A cross-check of simulators, not of BARE.
set here [file dirname [file normalize [info script]]]
source $here/common.tcl
array set opt {ntot 20 ncbr 1 bw 10e6 lat 5ms}
getopts {queue RED limit 120 udp 1e6 tcp Newreno T 100 warm 20 start 1.0
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
for {set i 0} {$i < $opt(ntot)-$opt(ncbr)} {incr i} { add_tcp [stub $A] [stub $B] }
for {set i 0} {$i < $opt(ncbr)} {incr i} { add_udp [stub $A] [stub $B] $opt(udp) }
run_sim
