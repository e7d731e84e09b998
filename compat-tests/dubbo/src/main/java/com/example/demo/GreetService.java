package com.example.demo;

/** The service that providers offer and consumers call. */
public interface GreetService {
    String greet(String name);
}
