// What the two directions of a recurrent step share: the kind of cell and how many gates it has.

const uint LSTM = 0, GRU = 1, TANH = 2, RELU = 3;
layout(constant_id = 3) const uint MODE = 0;
layout(constant_id = 4) const uint GATES = 4;

A sigmoid(A x) { return A(1) / (A(1) + tf_exp(-x)); }
