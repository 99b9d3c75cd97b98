# tie.tcl - sfb400's network with starts, ways and UDP read from a file, and no dice: every packet that comes to
# A -> B or is dropped there, with ns-2's clock to 17 digits. tie.py writes the file and reads what this prints.
#   ns tie.tcl flows=FILE T=SECONDS queue=DropTail|RED ecn=0|1 tick=SECONDS
# A line of FILE is  tcp START FROM TO  or  udp TIME FROM TO , one packet of UDP; FROM and TO are 0 to 4.
# Prints  @ CLOCK  before each line  + ...  of ns-2's trace (an arrival), and  d ...  for a drop.
set here [file dirname [file normalize [info script]]]
source $here/common.tcl
array set opt {flows {} bw 45e6 tick 0.01}
getopts {queue DropTail limit 200 T 10 red.min 40 red.max 160 red.maxp 0.1 red.wq 0.002 sched Splay stats none}
Agent/TCP set tcpTick_ $opt(tick)
start_sim
set A [$ns node]; set B [$ns node]; set C [$ns node]
for {set i 0} {$i < 5} {incr i} {
    set s($i) [$ns node]; set d($i) [$ns node]
    $ns duplex-link $s($i) $A 100Mb 10ms DropTail
    $ns duplex-link $C $d($i) 100Mb 10ms DropTail
    foreach {x y} [list $s($i) $A $A $s($i) $C $d($i) $d($i) $C] { $ns queue-limit $x $y 1000000 }
}
bottleneck $A $B $opt(bw) 10ms
$ns duplex-link $B $C $opt(bw) 10ms DropTail
$ns queue-limit $B $C 1000000; $ns queue-limit $C $B 1000000

# ns-2's trace rounds its clock to a microsecond. So each packet is copied before the queue: the copy ends in a
# classifier that knows no way for it and says so in Tcl, where the clock has all of its digits.
$ns trace-queue $A $B stdout
set clock [new Classifier/Hash/Dest 32]
$clock proc no-slot slot { global ns; puts "@ [format %.17g [$ns now]]" }
set both [new Classifier/Replicator]
$both set ignore_ 0
$both install 0 $clock
$both install 1 [$blink head]
$blink set head_ $both

proc listed {args} { global at; return $at }
set rng listed                    ;# add_tcp asks it for the start
foreach line [split [string trim [read [set f [open $opt(flows)]]]] \n] {
    foreach {kind at from to} $line break
    if {$kind eq "tcp"} {
        add_tcp $s($from) $d($to)
    } else {
        if {![info exists udp]} {
            set udp [new Agent/UDP]; set sink [new Agent/Null]
            $udp set fid_ $NF; incr NF; $udp set packetSize_ 1000
            $ns attach-agent $s($from) $udp; $ns attach-agent $d($to) $sink; $ns connect $udp $sink
        }
        $ns at $at "$udp send 1000"
    }
}
close $f
$ns at $opt(T) "exit 0"
$ns run
