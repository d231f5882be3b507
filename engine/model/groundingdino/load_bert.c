// SPDX-License-Identifier: MIT
// Loading BERT. The tables of words and positions stay where the CPU reads them: a text has few.
#include <stdio.h>

#include "groundingdino.h"
#include "net/load.h"

enum { NAME = 112 };

#define BERT "model.text_backbone."

static void load_layer(struct sam_loader *l, const struct gdino_sizes *s,
                       struct gdino_bert_layer *w, int i)
{
    const int c = s->bert;
    char at[NAME];

    snprintf(at, sizeof(at), BERT "encoder.layer.%d", i);
    sam_load_linear(l, &w->q, c, c, "%s.attention.self.query", at);
    sam_load_linear(l, &w->k, c, c, "%s.attention.self.key", at);
    sam_load_linear(l, &w->v, c, c, "%s.attention.self.value", at);
    sam_load_linear(l, &w->out, c, c, "%s.attention.output.dense", at);
    sam_load_norm(l, &w->norm[0], c, "%s.attention.output.LayerNorm", at);
    sam_load_linear(l, &w->up, s->bert_hidden, c, "%s.intermediate.dense", at);
    sam_load_linear(l, &w->down, c, s->bert_hidden, "%s.output.dense", at);
    sam_load_norm(l, &w->norm[1], c, "%s.output.LayerNorm", at);
}

static float *load_table(struct sam_loader *l, int rows, int c, const char *name)
{
    float *table = sam_load_room(&l->host, (size_t) rows * c);

    sam_load_read(l, table, 2, (int64_t[]) { rows, c }, BERT "embeddings.%s.weight", name);
    return table;
}

void gdino_load_bert(struct sam_loader *l, const struct sam_config *config, struct gdino_bert *w)
{
    const struct gdino_sizes *s = gdino_sizes(config);

    w->word = load_table(l, s->words, s->bert, "word_embeddings");
    w->place = load_table(l, s->places, s->bert, "position_embeddings");
    w->kind = load_table(l, 2, s->bert, "token_type_embeddings"); // the first row is read
    sam_load_norm(l, &w->norm, s->bert, BERT "embeddings.LayerNorm");
    for (int i = 0; i < s->bert_layers; i++)
        load_layer(l, s, &w->layer[i], i);
    sam_load_linear(l, &w->project, s->d, s->bert, "model.text_projection");
}
