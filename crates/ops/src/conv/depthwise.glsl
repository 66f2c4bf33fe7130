// The constants of depthwise kernels; depthwise.rs numbers them as conv.comp does.
layout(constant_id = 4) const bool CHANNELS_FIRST = false;
layout(constant_id = 19) const int FILTER_H = 1;
layout(constant_id = 20) const int FILTER_W = 1;
layout(constant_id = 22) const int STRIDE_H = 1;
layout(constant_id = 23) const int STRIDE_W = 1;
layout(constant_id = 25) const int DILATION_H = 1;
layout(constant_id = 26) const int DILATION_W = 1;
layout(constant_id = 28) const int PAD_H = 0;
layout(constant_id = 29) const int PAD_W = 0;
