# tcptrace.tcl - one flow over  s -100 Mb/s 1 ms- a -10 Mb/s 24 ms- d  of which exactly the data packets with given
# numbers of arrival at the second link (from 0, the SYN being 0) are lost or marked, before that link's queue:
# every packet the sender puts on the wire, with its time. A base RTT of about 50 ms keeps the timeout at its
# least value, 0.2 s, whatever the phase of the clock ticks.
#   ns tcptrace.tcl Newreno lost T NUMBER...        prints ns-2's trace of the first link's queue
set kind [lindex $argv 0]; set fate [lindex $argv 1]; set T [lindex $argv 2]
set hit [lrange $argv 3 end]
ns-random 1
set ns [new Simulator]
set s [$ns node]; set a [$ns node]; set d [$ns node]
$ns duplex-link $s $a 100Mb 1ms DropTail
$ns duplex-link $a $d 10Mb 24ms DropTail
foreach {x y} [list $s $a $a $s $a $d $d $a] { $ns queue-limit $x $y 1000000 }
set em [new ErrorModel/List]
$em unit pkt
if {[llength $hit]} { $em droplist $hit } else { $em droplist {1000000000} }
$em drop-target [new Agent/Null]
$ns lossmodel $em $a $d
set t [new Agent/TCP/$kind]
$t set packetSize_ 960; $t set window_ 10000
if {$fate eq "marked"} { $t set ecn_ 1; $em set markecn_ true }
set k [new Agent/TCPSink]
$ns attach-agent $s $t; $ns attach-agent $d $k; $ns connect $t $k
set f [new Application/FTP]; $f attach-agent $t
$ns trace-queue $s $a stdout
$ns at 0.0 "$f start"
$ns at $T "exit 0"
$ns run
