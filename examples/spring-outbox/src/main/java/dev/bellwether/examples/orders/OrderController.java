package dev.bellwether.examples.orders;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** {@code curl -X PUT localhost:8080/orders/42 -H 'Content-Type: text/plain' -d umbrella}. */
@RestController
class OrderController {
    private final Orders orders;

    OrderController(Orders orders) {
        this.orders = orders;
    }

    @PutMapping("/orders/{order}")
    @ResponseStatus(HttpStatus.CREATED)
    void place(@PathVariable("order") String order, @RequestBody String item) {
        orders.place(order, item);
    }
}
