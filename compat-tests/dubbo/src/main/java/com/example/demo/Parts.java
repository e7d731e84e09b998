package com.example.demo;

import java.util.Map;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.RegistryConfig;

/** What provider and consumer have in common. */
final class Parts {
    private Parts() {}

    static ApplicationConfig application(Map<String, String> options) {
        ApplicationConfig application = new ApplicationConfig(options.get("app"));
        application.setQosEnable(false);
        return application;
    }

    static RegistryConfig registry(Map<String, String> options) {
        String zookeeper = options.get("zookeeper");
        return new RegistryConfig(zookeeper == null ? "N/A" : "zookeeper://" + zookeeper);
    }
}
