# pulses.tcl - the set-up of Zhang, Yin, Cai and Chen 2010 (RRED), Fig. 4, in our words: 30 NewReno behind
# 5 Mb/s, 6 ms and 50 packets, and 20 sources of pulses from 120 s to 220 s.  Prints users' packets a second
# that were offered to the queue, and that arrived, before and in the attack.
#   ns pulses.tcl queue RED rate 0.25 on 0.2 every 1
# spread: users start within so many seconds (the print: 0, all at once).
# filter: with queue RED/PD, when the flows that are known by then get a drop probability of a tenth.
#         There is no controller.  The published set-up has 120+0.01, which ns-2 reads as 120.
array set opt {queue DropTail rate 0.25 on 0.2 every 1 spread 0 seed 1 minrto 1 filter 120+0.01}
array set opt $argv
ns-random $opt(seed)
set ns [new Simulator]
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Agent/TCP set minrto_ $opt(minrto)
Agent/TCP set window_ 20
set A [$ns node]; set B [$ns node]; set server [$ns node]
$ns simplex-link $A $B 5Mb 6ms $opt(queue)
$ns simplex-link $B $A 5Mb 6ms DropTail
$ns queue-limit $A $B 50
$ns queue-limit $B $A 50
$ns duplex-link $server $B 10Mb 2ms DropTail
if {$opt(queue) eq "RED/PD"} {
    set link [$ns link $A $B]; set queue [$link queue]
    set flows [$queue makeflowmon $link]
    proc filter {} {
        global queue flows
        foreach flow [$flows flows] { $queue monitor-flow $flow 0.1 }
    }
    $ns at $opt(filter) filter
}
proc sender {agent receiver} {
    global ns A server
    set n [$ns node]
    $ns duplex-link $n $A 10Mb 2ms DropTail
    $ns attach-agent $n $agent
    $ns attach-agent $server $receiver
    $ns connect $agent $receiver
}
set random [new RandomVariable/Uniform]
$random set min_ 0; $random set max_ 1
for {set i 0} {$i < 30} {incr i} {
    set tcp [new Agent/TCP/Newreno]; sender $tcp [new Agent/TCPSink]
    $tcp set packetSize_ 1000; $tcp set class_ 1
    set ftp [new Application/FTP]; $ftp attach-agent $tcp
    $ns at [expr {20 + $opt(spread) * [$random value]}] "$ftp start"
}
for {set i 0} {$i < 20 && $opt(rate) > 0} {incr i} {
    set udp [new Agent/UDP]; sender $udp [new Agent/Null]
    $udp set class_ 2
    set cbr [new Application/Traffic/CBR]; $cbr attach-agent $udp
    $cbr set packet_size_ 50; $cbr set rate_ $opt(rate)Mb
    for {set t 120.0} {$t < 220} {set t [expr {$t + $opt(every)}]} {
        $ns at $t "$cbr start"
        $ns at [expr {$t + $opt(on)}] "$cbr stop"
    }
}
set count {$5 == "tcp" && $2 >= 20 { n[$2 >= 120, $1]++ }
END { printf "before %.1f arrived %.1f, attack %.1f arrived %.1f\n",
      n[0, "+"] / 100, n[0, "r"] / 100, n[1, "+"] / 100, n[1, "r"] / 100 }}
set trace [open [list | awk $count >@ stdout] w]
$ns trace-queue $A $B $trace
$ns at 220 { $ns flush-trace; close $trace; exit 0 }
$ns run
