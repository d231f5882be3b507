/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_KAFKA_H__
#define __GST_SAM_KAFKA_H__

#include "record/gstsamoutput.h"

G_BEGIN_DECLS

/**
 * GstSamKafkaParams:
 * @uri: kafka://host[:port][,host[:port]...]/topic
 * @key: key of all messages: those of a key are in one partition, in order
 * @buffer: bytes of the texts that may wait for the brokers
 * @wake: called from any thread when gst_sam_output's tend has work
 */
typedef struct
{
  const gchar *uri, *key;
  gsize buffer;
  void (*wake) (gpointer data);
  gpointer data;
} GstSamKafkaParams;

/* Publish texts at a Kafka cluster, each as one message. Connects in the
 * background, and again when connections are lost. Texts that are not
 * acknowledged are sent again, in order, and arrive once. Returns NULL and sets
 * @error (GST_RESOURCE_ERROR) if the parameters are not valid, or if the build
 * has no Kafka. */
GstSamOutput *gst_sam_output_new_kafka (const GstSamKafkaParams * params,
    GstSamTally * tally, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_KAFKA_H__ */
