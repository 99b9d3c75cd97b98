# tcptrace.tcl - one flow over  s -100 Mb/s 1 ms- a -10 Mb/s 24 ms- d  of which exactly the data packets with given
# numbers of arrival at the second link (from 0, the SYN being 0) are lost before that link's queue, and those with
# given numbers among the others are marked (with the word `marked` the flow has ECN): every packet the sender puts
# on the wire, with its time. A base RTT of about 50 ms keeps the timeout at its least value, 0.2 s, whatever the
# phase of the clock ticks.
#   ns tcptrace.tcl Newreno T set NAME VALUE... lost NUMBER... marked NUMBER...
# with parameters of the sender after `set`; prints ns-2's trace of the first link's queue.
set kind [lindex $argv 0]; set T [lindex $argv 1]
set hit(set) {}; set hit(lost) {}; set hit(marked) {}
foreach word [lrange $argv 2 end] {
    if {[info exists hit($word)]} { set fate $word } else { lappend hit($fate) $word }
}
proc errors {numbers} {           ;# an error model that hits these arrivals
    set em [new ErrorModel/List]
    $em unit pkt
    if {[llength $numbers]} { $em droplist $numbers } else { $em droplist {1000000000} }
    $em drop-target [new Agent/Null]
    return $em
}
ns-random 1
set ns [new Simulator]
set s [$ns node]; set a [$ns node]; set d [$ns node]
$ns duplex-link $s $a 100Mb 1ms DropTail
$ns duplex-link $a $d 10Mb 24ms DropTail
foreach {x y} [list $s $a $a $s $a $d $d $a] { $ns queue-limit $x $y 1000000 }
set marks [errors $hit(marked)]
$marks set markecn_ true
$ns lossmodel $marks $a $d
$ns lossmodel [errors $hit(lost)] $a $d        ;# the last one added comes first
set t [new Agent/TCP/$kind]
$t set packetSize_ 960; $t set window_ 10000
if {$fate eq "marked"} { $t set ecn_ 1 }
foreach {name value} $hit(set) { $t set $name $value }
if {$kind eq "Sack1"} { set k [new Agent/TCPSink/Sack1] } else { set k [new Agent/TCPSink] }
$ns attach-agent $s $t; $ns attach-agent $d $k; $ns connect $t $k
set f [new Application/FTP]; $f attach-agent $t
$ns trace-queue $s $a stdout
$ns at 0.0 "$f start"
$ns at $T "exit 0"
$ns run
