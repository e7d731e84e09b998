package com.example.demo;

import java.util.Map;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/**
 * Refers to the service and says "PROVIDERS n [..] interface=n instance=n" whenever its list changes, "READY consumer pid
 * PID", and, told to call, "CALL ok .." or "CALL fail ..".
 */
final class Consumer {
    private Consumer() {}

    static void run(Map<String, String> options) {
        ReferenceConfig<GreetService> reference = new ReferenceConfig<>();
        reference.setInterface(GreetService.class);
        reference.setCheck(false);
        reference.setTimeout(Integer.parseInt(options.getOrDefault("timeout", "5000")));

        DubboBootstrap.getInstance()
                .application(Parts.application(options))
                .registry(Parts.registry(options))
                .reference(reference)
                .start();
        GreetService greet = reference.get();

        View view = new View(reference);
        view.watch();
        Console.say("READY consumer pid " + Console.pid());
        Console.commands(Map.of("call", () -> call(greet)));
    }

    private static void call(GreetService greet) {
        try {
            Console.say("CALL ok " + greet.greet("you"));
        } catch (RuntimeException e) {
            Console.say("CALL fail " + String.valueOf(e.getMessage()).replace('\n', ' '));
        }
    }
}
