/* SPDX-License-Identifier: MIT */
/* Three Kafka brokers on this machine, which librdkafka plays, with the topic
 * "lines" of four partitions. Prints their addresses, then obeys standard
 * input: e: the next requests to write fail, each for another reason; d, u: all
 * brokers go down, come up; a number: read so many messages, and print the
 * partition, the key and the value of each. */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BROKERS 3
#define PARTITIONS 4
#define PATIENCE_MS 30000
#define PRODUCE 0               /* the protocol's number of requests to write */
#define ERRORS 1000
#define ANSWERING_US 500000

static rd_kafka_t *
make (rd_kafka_type_t type, const char *servers)
{
  rd_kafka_conf_t *conf = rd_kafka_conf_new ();
  char why[200];
  rd_kafka_t *client;

  if (servers) {
    rd_kafka_conf_set (conf, "bootstrap.servers", servers, why, sizeof why);
    rd_kafka_conf_set (conf, "group.id", "test", why, sizeof why);
  }
  client = rd_kafka_new (type, conf, why, sizeof why);
  if (!client) {
    fprintf (stderr, "%s\n", why);
    exit (1);
  }
  return client;
}

static void
read_messages (const char *servers, int n)
{
  rd_kafka_t *client = make (RD_KAFKA_CONSUMER, servers);
  rd_kafka_topic_partition_list_t *all = rd_kafka_topic_partition_list_new (1);
  int i;

  for (i = 0; i < PARTITIONS; i++)
    rd_kafka_topic_partition_list_add (all, "lines", i)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign (client, all);
  for (i = 0; i < n;) {
    rd_kafka_message_t *m = rd_kafka_consumer_poll (client, PATIENCE_MS);

    if (!m)
      break;
    if (!m->err) {
      printf ("%d %.*s %.*s\n", (int) m->partition, (int) m->key_len,
          (const char *) m->key, (int) m->len, (const char *) m->payload);
      i++;
    }
    rd_kafka_message_destroy (m);
  }
  /* Nothing must come behind them. */
  {
    rd_kafka_message_t *m = rd_kafka_consumer_poll (client, 1000);

    if (m && !m->err)
      printf ("more\n");
    if (m)
      rd_kafka_message_destroy (m);
  }
  printf ("end\n");
  fflush (stdout);
  rd_kafka_topic_partition_list_destroy (all);
  rd_kafka_consumer_close (client);
  rd_kafka_destroy (client);
}

/* A request that was carried out and whose answer is lost comes again. Brokers
 * know it by its sequence number, but these do not, and would have its lines
 * twice. So before they go down nothing is carried out any more, and what was
 * is answered. */
static void
go_down (rd_kafka_mock_cluster_t *mock)
{
  rd_kafka_resp_err_t errors[ERRORS];
  int i;

  for (i = 0; i < ERRORS; i++)
    errors[i] = RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS;
  rd_kafka_mock_push_request_errors_array (mock, PRODUCE, ERRORS, errors);
  usleep (ANSWERING_US);
  for (i = 1; i <= BROKERS; i++)
    rd_kafka_mock_broker_set_down (mock, i);
}

static void
come_up (rd_kafka_mock_cluster_t *mock)
{
  int i;

  rd_kafka_mock_clear_request_errors (mock, PRODUCE);
  for (i = 1; i <= BROKERS; i++)
    rd_kafka_mock_broker_set_up (mock, i);
}

int
main (void)
{
  rd_kafka_t *owner = make (RD_KAFKA_PRODUCER, NULL);
  rd_kafka_mock_cluster_t *mock = rd_kafka_mock_cluster_new (owner, BROKERS);
  char line[20];

  rd_kafka_mock_topic_create (mock, "lines", PARTITIONS, BROKERS);
  printf ("%s\n", rd_kafka_mock_cluster_bootstraps (mock));
  fflush (stdout);
  while (fgets (line, sizeof line, stdin)) {
    if (*line == 'e')
      rd_kafka_mock_push_request_errors (mock, PRODUCE, 3,
          RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR__TRANSPORT,
          RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION);
    if (*line == 'd')
      go_down (mock);
    if (*line == 'u')
      come_up (mock);
    if (atoi (line) > 0)
      read_messages (rd_kafka_mock_cluster_bootstraps (mock), atoi (line));
  }
  rd_kafka_mock_cluster_destroy (mock);
  rd_kafka_destroy (owner);
  return 0;
}
