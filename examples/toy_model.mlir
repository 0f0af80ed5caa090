// A classifier: linear, relu, layer norm, linear, cross entropy. Batch 20, 10 features, 5 classes.
//
//   cs336-run toy_model.mlir --entry train …   trains it
//   cs336-translate --emit-executable …        makes an executable of it

!input = tensor<20x10xf32>
!hidden = tensor<20x16xf32>
!logits = tensor<20x5xf32>

func.func @train(
    %fc1: tensor<16x10xf32> {cs336.kind = "parameter", cs336.name = "fc1.weight", cs336.init = #cs336.init<truncated_normal, std = 0.27735, cut = 3.0>},
    %scale: tensor<16xf32> {cs336.kind = "parameter", cs336.name = "ln.weight", cs336.init = #cs336.init<ones>},
    %shift: tensor<16xf32> {cs336.kind = "parameter", cs336.name = "ln.bias", cs336.init = #cs336.init<zeros>},
    %fc2: tensor<5x16xf32> {cs336.kind = "parameter", cs336.name = "fc2.weight", cs336.init = #cs336.init<truncated_normal, std = 0.3086, cut = 3.0>},
    %x: !input {cs336.kind = "input", cs336.name = "x"},
    %labels: tensor<20xi64> {cs336.kind = "input", cs336.name = "labels", cs336.bound = 5 : i64})
    -> (tensor<f32> {cs336.kind = "output", cs336.name = "loss"}, !logits {cs336.kind = "output", cs336.name = "logits"})
    attributes {cs336.mode = #cs336.mode<train>, cs336.optimizer = #cs336.optimizer<lr = 1.0e-02, weight_decay = 1.0e-01, max_norm = 1.0>} {
  %0 = cs336.linear %x, %fc1 : !input, tensor<16x10xf32> -> !hidden loc("fc1")
  %1 = cs336.relu %0 : !hidden loc("relu")
  %2 = cs336.layer_norm %1, %scale, %shift eps = 1.0e-05 : !hidden, tensor<16xf32> loc("ln")
  %3 = cs336.linear %2, %fc2 : !hidden, tensor<5x16xf32> -> !logits loc("fc2")
  %loss = cs336.cross_entropy %3, %labels : !logits, tensor<20xi64> -> tensor<f32> loc("loss")
  return %loss, %3 : tensor<f32>, !logits
}
