package com.example.demo;

import java.util.Map;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/** Offers the service and says "READY provider PORT pid PID". */
final class Provider {
    private Provider() {}

    static void run(Map<String, String> options) {
        int port = Integer.parseInt(options.get("port"));

        ProtocolConfig protocol = new ProtocolConfig("dubbo", port);
        protocol.setHost(options.get("host"));

        ServiceConfig<GreetService> service = new ServiceConfig<>();
        service.setInterface(GreetService.class);
        service.setRef(name -> "hello-" + name + " from " + port);

        DubboBootstrap.getInstance()
                .application(Parts.application(options))
                .registry(Parts.registry(options))
                .protocol(protocol)
                .service(service)
                .start();
        Console.say("READY provider " + port + " pid " + Console.pid());
        Console.commands(Map.of());
    }
}
