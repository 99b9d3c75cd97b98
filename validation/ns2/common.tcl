# common.tcl - what the ns-2 scripts of this folder share.  Uses only the public
# OTcl interface of the stock Debian package ns2 2.35.
#
# Options are key=value words on the command line:  ns sfb400.tcl queue=RED udp=2e6
# Everything is reported as "key value" lines plus one JSON line (JSON {...}).

set T_SCRIPT0 [clock microseconds]
array set opt {
    queue DropTail  seed 1  T 100  warm 0  start 1.0
    tcp Newreno  sink plain  pkt 1000  window 10000  ecn 0
    udp 0  udppkt 1000  nudp 1  udpjit 0  overhead 0
    limit 100  stats flow  sched Calendar  hdr min  leaf 0  perflow 0
    red.min 0 red.max 0 red.maxp 0.1 red.wq 0.002 red.gentle 1 red.bytes 0 red.wait 1 red.usemarkp 0
    red.mean 0
    sfq.buckets 16  drr.buckets 1024  drr.quantum 1000
    rem.gamma 0.001 rem.phi 1.001 rem.upd 0.002 rem.pbo 20
}

proc getopts {pairs} {           ;# scenario defaults first, then argv overrides
    global opt argv
    array set opt $pairs
    foreach w $argv {
        set i [string first = $w]
        if {$i < 1} { puts stderr "bad option '$w' (want key=value)"; exit 2 }
        set k [string range $w 0 [expr {$i-1}]]
        if {![info exists opt($k)]} { puts stderr "unknown option '$k'"; exit 2 }
        set opt($k) [string range $w [expr {$i+1}] end]
    }
}

proc start_sim {} {
    global opt ns rng
    if {$opt(hdr) eq "min"} {
        remove-all-packet-headers
        foreach h {Flags IP TCP RTP TFRC TFRC_ACK} { add-packet-header $h }
    }
    ns-random $opt(seed)
    set ns [new Simulator]
    if {$opt(sched) ne "Calendar"} { $ns use-scheduler $opt(sched) }
    set rng [new RNG]; $rng seed [expr {$opt(seed)*7919+17}]
}

# ---- bottleneck queue -----------------------------------------------------
# Class defaults must be set BEFORE the link exists: RED and REM copy
# mean_pktsize_ etc. into a "packets per second" constant at link time.
proc config_queue {} {
    global opt
    set m [expr {$opt(red.mean) ? $opt(red.mean) : $opt(pkt)}]
    set b [expr {$opt(red.bytes) ? "true" : "false"}]
    Queue/RED set mean_pktsize_ $m
    Queue/RED set bytes_ $b
    Queue/RED set queue_in_bytes_ $b
    Queue/RED set thresh_ $opt(red.min)
    Queue/RED set maxthresh_ $opt(red.max)
    Queue/RED set linterm_ [expr {1.0/$opt(red.maxp)}]
    Queue/RED set q_weight_ $opt(red.wq)
    Queue/RED set gentle_ [expr {$opt(red.gentle) ? "true":"false"}]
    Queue/RED set wait_ [expr {$opt(red.wait) ? "true":"false"}]
    Queue/RED set setbit_ [expr {$opt(ecn) ? "true":"false"}]
    Queue/RED set use_mark_p_ [expr {$opt(red.usemarkp) ? "true":"false"}]
    Queue/SFQ set maxqueue_ $opt(limit)           ;# it does not heed limit_
    Queue/SFQ set buckets_ $opt(sfq.buckets)
    Queue/DRR set blimit_ [expr {int($opt(limit)*$opt(pkt))}]
    Queue/DRR set buckets_ $opt(drr.buckets)
    Queue/DRR set quantum_ $opt(drr.quantum)
    Queue/REM set mean_pktsize_ $opt(pkt)
    Queue/REM set gamma_ $opt(rem.gamma)
    Queue/REM set phi_ $opt(rem.phi)
    Queue/REM set inw_ 1
    Queue/REM set pupdtime_ $opt(rem.upd)
    Queue/REM set pbo_ $opt(rem.pbo)
    Queue/REM set qib_ false
    Queue/REM set markpkts_ [expr {$opt(ecn) ? "true":"false"}]
}

proc bottleneck {a b bw delay} {
    global opt ns qmon fmon blink cap
    config_queue
    set cap $bw
    if {$opt(queue) eq "RED/PD"} {
        $ns simplex-link $a $b $bw $delay RED/PD MEDROP EDROP
    } else {
        $ns simplex-link $a $b $bw $delay $opt(queue)
    }
    $ns simplex-link $b $a $bw $delay DropTail
    $ns queue-limit $a $b $opt(limit)
    $ns queue-limit $b $a 1000000
    set blink [$ns link $a $b]
    if {$opt(stats) eq "flow"} {
        set fmon [$ns makeflowmon Fid]
        $ns attach-fmon $blink $fmon 0
        set qmon $fmon
        $qmon set-bytes-integrator [new Integrator]
        $qmon set-pkts-integrator [new Integrator]
    } else {
        set fmon {}
        set qmon [$ns monitor-queue $a $b ""]
    }
    if {$opt(queue) eq "RED/PD"} { control_pd [$blink queue] }
}

# The package has RED/PD's pre-filter; its controller is in scripts of the authors' that come with ns-2's
# source only (tcl/ex/red-pd). RED_PD_TCL is their folder.
proc control_pd {queue} {
    global ns blink env
    if {![info exists env(RED_PD_TCL)]} { puts stderr "RED_PD_TCL must name ns-2.35's folder tcl/ex/red-pd"; exit 2 }
    foreach script {monitoring helper} { uplevel #0 [list source $env(RED_PD_TCL)/$script.tcl] }
    foreach {name value} {testIdent_ 0 listMode_ multi verbosity_ -1 unresponsive_test_ 1 target_rtt_ 0.040} {
        uplevel #0 [list set $name $value]
    }
    new REDPDSim $ns $queue [$queue makeflowmon $blink] $blink 0 true
}

# ---- traffic --------------------------------------------------------------
set NF 0
proc add_tcp {s d {kind {}} {settings {}}} {
    global opt ns NF flow rng
    if {$kind eq ""} { set kind $opt(tcp) }
    set fid $NF; incr NF
    set t [new Agent/TCP/$kind]
    if {$opt(sink) eq "delack"} { set k [new Agent/TCPSink/DelAck] } \
    elseif {[string match Sack1* $kind]} { set k [new Agent/TCPSink/Sack1] } \
    else { set k [new Agent/TCPSink] }
    $t set fid_ $fid; $k set fid_ $fid
    $t set packetSize_ [expr {$opt(pkt)-40}]      ;# + 40 header = pkt bytes on the wire
    $t set window_ $opt(window)
    $t set overhead_ $opt(overhead)               ;# >0: random send delay, breaks phase locking
    if {$opt(ecn)} { $t set ecn_ 1 }
    foreach {v x} $settings { $t set $v $x }
    $ns attach-agent $s $t; $ns attach-agent $d $k; $ns connect $t $k
    set f [new Application/FTP]; $f attach-agent $t
    set flow($fid,type) tcp; set flow($fid,src) $t; set flow($fid,dst) $k
    $ns at [$rng uniform 0 $opt(start)] "$f start"
    return $fid
}
proc add_udp {s d rate} {
    global opt ns NF flow rng
    set fid $NF; incr NF
    set u [new Agent/UDP]; set k [new Agent/LossMonitor]
    $u set fid_ $fid; $u set packetSize_ $opt(udppkt)
    $ns attach-agent $s $u; $ns attach-agent $d $k; $ns connect $u $k
    set c [new Application/Traffic/CBR]; $c attach-agent $u
    $c set packetSize_ $opt(udppkt); $c set rate_ $rate; $c set random_ $opt(udpjit)
    set flow($fid,type) udp; set flow($fid,src) $u; set flow($fid,dst) $k
    $ns at [$rng uniform 0 $opt(start)] "$c start"
    return $fid
}
proc add_tfrc {s d jitter} {
    global opt ns NF flow rng
    set fid $NF; incr NF
    set t [new Agent/TFRC]; set k [new Agent/TFRCSink]
    $t set fid_ $fid; $k set fid_ $fid
    $t set packetSize_ $opt(pkt); $t set useHeaders_ false; $t set overhead_ $jitter
    $ns attach-agent $s $t; $ns attach-agent $d $k; $ns connect $t $k
    set flow($fid,type) tfrc; set flow($fid,src) $t; set flow($fid,dst) $k
    $ns at [$rng uniform 0 $opt(start)] "$t start"
    return $fid
}

# ---- measurement ----------------------------------------------------------
proc qint {what} {
    global qmon ns
    set i [$qmon get-$what-integrator]
    $i newpoint [$ns now] [$qmon set [expr {$what eq "bytes" ? "size_" : "pkts_"}]]
    return [$i set sum_]
}
proc snap {tag} {
    global S NF flow qmon fmon ns opt
    set S($tag,t) [$ns now]
    foreach v {parrivals_ barrivals_ pdepartures_ bdepartures_ pdrops_ bdrops_} { set S($tag,$v) [$qmon set $v] }
    set S($tag,qb) [qint bytes]; set S($tag,qp) [qint pkts]
    for {set i 0} {$i < $NF} {incr i} {
        set S($tag,$i,rx) [$flow($i,dst) set bytes_]
        foreach v {pa ba pd bd pl bl} { set S($tag,$i,$v) 0 }
        if {$flow($i,type) eq "tcp"} {
            foreach {k v} {ack ack_ tx ndatapack_ rtx nrexmitpack_ rto nrexmit_ cuts ncwndcuts_} { set S($tag,$i,$k) [$flow($i,src) set $v] }
        } elseif {$flow($i,type) eq "udp"} {
            set S($tag,$i,lost) [$flow($i,dst) set nlost_]; set S($tag,$i,got) [$flow($i,dst) set npkts_]
        }
    }
    if {$fmon ne ""} {
        foreach f [$fmon flows] {
            set i [$f set flowid_]
            foreach {k v} {pa parrivals_ ba barrivals_ pd pdepartures_ bd bdepartures_ pl pdrops_ bl bdrops_} { set S($tag,$i,$k) [$f set $v] }
        }
    }
    set S($tag,qlen) [$qmon set pkts_]
}
proc jain {xs} {
    set s 0.0; set q 0.0; set n 0
    foreach x $xs { set s [expr {$s+$x}]; set q [expr {$q+$x*$x}]; incr n }
    if {$q == 0} {return 0}
    return [expr {$s*$s/($n*$q)}]
}
proc mean {xs} { set s 0.0; foreach x $xs { set s [expr {$s+$x}] }; return [expr {[llength $xs] ? $s/[llength $xs] : 0.0}] }

set R {}
proc out {k v} {
    global R
    if {[string is double -strict $v] && ![string is integer -strict $v] && ![string is wideinteger -strict $v]} { set v [format %.6g $v] }
    puts "$k $v"
    if {[string is double -strict $v]} { lappend R "\"$k\":$v" } else { lappend R "\"$k\":\"$v\"" }
}

proc cputime {} {                 ;# user+system seconds of this process, 10 ms ticks
    set f [open /proc/self/stat]; set l [read $f]; close $f
    regsub {^.*\) } $l {} l
    return [expr {([lindex $l 11]+[lindex $l 12])/100.0}]
}
proc snap_w {} {                  ;# warm-up snapshot, its cost excluded from run_s
    global T_SNAP C_SNAP
    set t [clock microseconds]; set c [cputime]
    snap w
    set T_SNAP [expr {[clock microseconds]-$t}]; set C_SNAP [expr {[cputime]-$c}]
}
proc report {} {
    global S NF flow opt ns cap R EV0 T_SCRIPT0 T_RUN0 fmon argv argv0 classes
    global T_SNAP C_SNAP C_RUN0
    set T_RUN1 [clock microseconds]; set C_RUN1 [cputime]
    set ev [expr {[$ns at [expr {[$ns now]+1e6}] ""] - $EV0}]
    snap e
    set dt [expr {$S(e,t)-$S(w,t)}]
    out scenario [file rootname [file tail $argv0]]
    foreach k {queue seed T warm tcp udp ecn limit stats sched hdr} { out $k $opt($k) }
    out args $argv
    # per-flow rates (bit/s, wire bytes) measured at the receivers
    set rt {}; set ru {}; set ra {}; set gp {}
    set rf {}; set fl 0; set fa 0
    set tl 0; set ta 0; set ul 0; set ua 0; set tlb 0; set ulb 0; set rto 0; set tx 0; set rtx 0; set cuts 0
    for {set i 0} {$i < $NF} {incr i} {
        # wire throughput: packets that left the bottleneck when flow stats are on,
        # otherwise in-order bytes delivered by the sink
        if {$fmon ne ""} { set r [expr {($S(e,$i,bd)-$S(w,$i,bd))*8.0/$dt}] } \
        else { set r [expr {($S(e,$i,rx)-$S(w,$i,rx))*8.0/$dt}] }
        set a [expr {$S(e,$i,pa)-$S(w,$i,pa)}]
        set d [expr {$S(e,$i,pd)-$S(w,$i,pd)}]
        set l [expr {$S(e,$i,pl)-$S(w,$i,pl)}]
        set lb [expr {$S(e,$i,bl)-$S(w,$i,bl)}]
        set rate($i) $r; set lr($i) [expr {$a ? double($l)/$a : 0.0}]
        lappend ra $r
        if {$flow($i,type) eq "tcp"} {
            lappend rt $r; incr tl $l; incr ta $a; incr tlb $lb
            lappend gp [expr {($S(e,$i,ack)-$S(w,$i,ack))*($opt(pkt)-40)*8.0/$dt}]
            incr tx [expr {$S(e,$i,tx)-$S(w,$i,tx)}]; incr rtx [expr {$S(e,$i,rtx)-$S(w,$i,rtx)}]
            incr rto [expr {$S(e,$i,rto)-$S(w,$i,rto)}]; incr cuts [expr {$S(e,$i,cuts)-$S(w,$i,cuts)}]
        } elseif {$flow($i,type) eq "tfrc"} {
            lappend rf $r; incr fl $l; incr fa $a
        } else {
            lappend ru $r; incr ul $l; incr ua $a; incr ulb $lb
            if {$fmon eq ""} {
                incr ul [expr {$S(e,$i,lost)-$S(w,$i,lost)}]
                incr ua [expr {$S(e,$i,lost)-$S(w,$i,lost)+$S(e,$i,got)-$S(w,$i,got)}]
            }
        }
    }
    set st [lsort -real $rt]; if {![llength $st]} { set st 0.0 }
    out n_tcp [llength $rt]; out n_udp [llength $ru]
    out udp_thr_mbps [expr {[llength $ru] ? [mean $ru]/1e6 : 0.0}]
    out tcp_thr_mean_mbps [expr {[mean $rt]/1e6}]
    out tcp_thr_total_mbps [expr {[mean $rt]*[llength $rt]/1e6}]
    out tcp_thr_min_mbps [expr {[lindex $st 0]/1e6}]
    out tcp_thr_p10_mbps [expr {[lindex $st [expr {int(0.1*[llength $st])}]]/1e6}]
    out tcp_thr_p50_mbps [expr {[lindex $st [expr {int(0.5*[llength $st])}]]/1e6}]
    out tcp_thr_p90_mbps [expr {[lindex $st [expr {int(0.9*[llength $st])}]]/1e6}]
    out tcp_thr_max_mbps [expr {[lindex $st end]/1e6}]
    out tcp_goodput_total_mbps [expr {[mean $gp]*[llength $gp]/1e6}]
    out jain_tcp [jain $rt]
    out jain_all [jain $ra]
    out n_tfrc [llength $rf]
    out tfrc_thr_mean_mbps [expr {[mean $rf]/1e6}]
    out jain_tfrc [jain $rf]
    out loss_tfrc [expr {$fa ? double($fl)/$fa : 0.0}]
    # CARE's "norm": sum over flows of (rate - fair share)^2 in (kb/s)^2
    set fair [expr {$cap/1e3/$NF}]; set nm 0.0
    foreach r $ra { set nm [expr {$nm + ($r/1e3-$fair)**2}] }
    out norm_kbps2 $nm
    out loss_tcp [expr {$ta ? double($tl)/$ta : 0.0}]
    out loss_udp [expr {$ua ? double($ul)/$ua : 0.0}]
    out loss_tcp_mbps [expr {$tlb*8.0/$dt/1e6}]
    out loss_udp_mbps [expr {$ulb*8.0/$dt/1e6}]
    set qb [expr {($S(e,qb)-$S(w,qb))/$dt}]; set qp [expr {($S(e,qp)-$S(w,qp))/$dt}]
    out mean_q_pkts $qp
    out mean_q_bytes $qb
    set bdep [expr {$S(e,bdepartures_)-$S(w,bdepartures_)}]
    out util [expr {$bdep*8.0/$dt/$cap}]
    out bott_arrivals [expr {$S(e,parrivals_)}]
    out bott_drops [expr {$S(e,parrivals_)-$S(e,pdepartures_)-$S(e,qlen)}]
    out bott_departures [expr {$S(e,pdepartures_)}]
    out tcp_data_sent $tx; out tcp_rtx $rtx; out tcp_rto $rto; out tcp_cuts $cuts
    out setup_s [expr {($T_RUN0-$T_SCRIPT0)/1e6}]
    set w [expr {($T_RUN1-$T_RUN0-$T_SNAP)/1e6}]
    out run_s $w
    out run_cpu_s [expr {$C_RUN1-$C_RUN0-$C_SNAP}]
    out setup_cpu_s $C_RUN0
    out events_sched $ev
    out events_per_s [expr {$ev/$w}]
    out bott_pkts_per_s [expr {$S(e,pdepartures_)/$w}]
    out simsec_per_wallsec [expr {$opt(T)/$w}]
    if {[info exists classes]} {
        foreach {name lo hi} $classes {
            set xs {}; set ls {}
            for {set i $lo} {$i <= $hi} {incr i} { lappend xs $rate($i); lappend ls $lr($i) }
            out class.$name.kbps [expr {[mean $xs]/1e3}]
            out class.$name.loss [mean $ls]
        }
    }
    if {$opt(perflow)} {
        set l {}
        for {set i 0} {$i < $NF} {incr i} {
            puts "FLOW $i $flow($i,type) [format {%.4f} [expr {$rate($i)/1e3}]] kb/s loss [format %.5f $lr($i)]"
            lappend l [format %.2f [expr {$rate($i)/1e3}]]
        }
        lappend R "\"perflow_kbps\":\[[join $l ,]\]"
    }
    puts "JSON {[join $R ,]}"
    exit 0
}

proc run_sim {} {
    global ns opt EV0 T_RUN0
    set EV0 0
    $ns at 0.0 { set T_RUN0 [clock microseconds]; set C_RUN0 [cputime] }
    $ns at $opt(warm) snap_w
    $ns at $opt(T) report
    $ns run
}
