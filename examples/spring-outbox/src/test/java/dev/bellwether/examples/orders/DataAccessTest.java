package dev.bellwether.examples.orders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.bellwether.outbox.Message;
import dev.bellwether.outbox.Outbox;
import dev.bellwether.outbox.OutboxTable;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceContext;
import jakarta.persistence.Table;
import java.time.Instant;
import java.util.List;
import org.apache.ibatis.annotations.Insert;
import org.apache.ibatis.annotations.Mapper;
import org.apache.ibatis.annotations.Param;
import org.jooq.DSLContext;
import org.jooq.impl.DSL;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

/**
 * Events of transactions whose data goes by other ways than JDBC, as Spring Boot sets them up: what commits is
 * published, what does not is not. On a real PostgreSQL and a real broker.
 */
@Timeout(240)
class DataAccessTest {
    /** In Spring Boot 3 and in 4. */
    static final String WITHOUT_JPA = "--spring.autoconfigure.exclude="
            + "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration,"
            + "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration";

    private static Surroundings surroundings;

    @BeforeAll
    static void start() {
        surroundings = new Surroundings();
    }

    @AfterAll
    static void stop() {
        surroundings.close();
    }

    /** Places an order; throws in the end if the item is "none". */
    interface Placing {
        void place(String order, String item);
    }

    @Entity
    @Table(name = "orders")
    static class StoredOrder {
        @Id
        String id;

        String item;

        protected StoredOrder() {}

        StoredOrder(String id, String item) {
            this.id = id;
            this.item = item;
        }
    }

    static class JpaOrders implements Placing {
        @PersistenceContext
        EntityManager entities;

        final ApplicationEventPublisher events;

        JpaOrders(ApplicationEventPublisher events) {
            this.events = events;
        }

        @Override
        @Transactional
        public void place(String order, String item) {
            entities.persist(new StoredOrder(order, item)); // written at the commit, after the event
            events.publishEvent(placed(order, item));
            requireSome(item);
        }
    }

    @Test
    void jpa() {
        try (var application = surroundings.start(List.of(JpaOrders.class))) {
            commitsPublishAndRollbacksDoNot("jpa", application, application.getBean(Placing.class));
        }
    }

    static class JooqOrders implements Placing {
        private final DSLContext jooq;
        private final ApplicationEventPublisher events;

        JooqOrders(DSLContext jooq, ApplicationEventPublisher events) {
            this.jooq = jooq;
            this.events = events;
        }

        @Override
        @Transactional
        public void place(String order, String item) {
            jooq.execute("INSERT INTO orders (id, item) VALUES (?, ?)", order, item);
            events.publishEvent(placed(order, item));
            requireSome(item);
        }
    }

    /** Transactions of jOOQ's own, which Spring Boot makes Spring's. */
    static class JooqTransactions implements Placing {
        private final DSLContext jooq;
        private final ApplicationEventPublisher events;

        JooqTransactions(DSLContext jooq, ApplicationEventPublisher events) {
            this.jooq = jooq;
            this.events = events;
        }

        @Override
        public void place(String order, String item) {
            jooq.transaction(inside -> {
                inside.dsl().execute("INSERT INTO orders (id, item) VALUES (?, ?)", order, item);
                events.publishEvent(placed(order, item));
                requireSome(item);
            });
        }
    }

    @Test
    void jooq() {
        try (var application = surroundings.start(List.of(JooqOrders.class), WITHOUT_JPA)) {
            commitsPublishAndRollbacksDoNot("jooq", application, application.getBean(Placing.class));
        }
        try (var application = surroundings.start(List.of(JooqTransactions.class), WITHOUT_JPA)) {
            commitsPublishAndRollbacksDoNot("own", application, application.getBean(Placing.class));
        }
    }

    @Test
    void jooqOutsideSpringStashesInALine() {
        try (var application = surroundings.start(List.of(), WITHOUT_JPA)) {
            var outbox = Outbox.of(OutboxTable.named("outbox"));
            Placing orders = (order, item) -> {
                try (var jooq = DSL.using(surroundings.uri())) {
                    jooq.transaction(inside -> {
                        inside.dsl().execute("INSERT INTO orders (id, item) VALUES (?, ?)", order, item);
                        inside.dsl()
                                .connection(
                                        connection -> outbox.stash(connection, Message.of("orders", order, "placed")));
                        requireSome(item);
                    });
                }
            };
            commitsPublishAndRollbacksDoNot("alone", application, orders);
        }
    }

    @Mapper
    interface OrderMapper {
        @Insert("INSERT INTO orders (id, item) VALUES (#{order}, #{item})")
        void insert(@Param("order") String order, @Param("item") String item);
    }

    static class MybatisOrders implements Placing {
        private final OrderMapper mapper;
        private final ApplicationEventPublisher events;

        MybatisOrders(OrderMapper mapper, ApplicationEventPublisher events) {
            this.mapper = mapper;
            this.events = events;
        }

        @Override
        @Transactional
        public void place(String order, String item) {
            mapper.insert(order, item);
            events.publishEvent(placed(order, item));
            requireSome(item);
        }
    }

    @Test
    void mybatis() {
        try (var application = surroundings.start(List.of(MybatisOrders.class), WITHOUT_JPA)) {
            commitsPublishAndRollbacksDoNot("mybatis", application, application.getBean(Placing.class));
        }
    }

    /** A row's id is lower than that of a later one: what was published of a rollback would be read before the last. */
    private static void commitsPublishAndRollbacksDoNot(
            String name, ConfigurableApplicationContext application, Placing orders) {
        var jdbc = application.getBean(JdbcTemplate.class);
        orders.place(name + "-1", "umbrella");
        assertThatThrownBy(() -> orders.place(name + "-2", "none")).hasStackTraceContaining("there is no item");
        assertThatThrownBy(() -> orders.place(name + "-1", "placed twice")).hasStackTraceContaining("duplicate key");
        orders.place(name + "-3", "raincoat");
        assertThat(surroundings.keysUpTo(name + "-3"))
                .filteredOn(key -> key.startsWith(name + '-'))
                .containsExactly(name + "-1", name + "-3");
        assertThat(jdbc.queryForList("SELECT id FROM orders WHERE id LIKE ? ORDER BY id", String.class, name + "-_"))
                .containsExactly(name + "-1", name + "-3");
    }

    private static OrderPlaced placed(String order, String item) {
        return new OrderPlaced(order, item, Instant.now());
    }

    private static void requireSome(String item) {
        if (item.equals("none")) {
            throw new IllegalArgumentException("there is no item " + item);
        }
    }
}
