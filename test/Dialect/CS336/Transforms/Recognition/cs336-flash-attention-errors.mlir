// Programs that resemble attention but are not changed. The pass never fails: remarks give the reasons.

// RUN: cs336-opt %s --split-input-file --cs336-flash-attention -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: cs336-opt %s --split-input-file -o %t.same.mlir
// RUN: diff %t.mlir %t.same.mlir
// RUN: cs336-opt %s --split-input-file --cs336-flash-attention --remarks-filter=cs336-flash-attention --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// CHECK-NOT: cs336.attention

// -----

// Scores are returned.
// REMARK: "scores"{{.*}}UsedElsewhere{{.*}}scores are used elsewhere too, by 'func.return'
func.func @scores_used(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o, %s : tensor<4x8xf32>, tensor<4x4xf32>
}

// -----

// Probabilities are returned.
// REMARK: "softmax"{{.*}}UsedElsewhere{{.*}}by 'func.return'
func.func @probabilities_used(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o, %p : tensor<4x8xf32>, tensor<4x4xf32>
}

// -----

// The sum is returned.
// REMARK: "softmax"{{.*}}NoSoftmax{{.*}}sum is used elsewhere too
func.func @sum_used(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o, %z0 : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// The softmax is over queries.
// REMARK: "softmax"{{.*}}NoSoftmax{{.*}}the sum is not over the last axis
func.func @other_axis(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [0] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [0] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Large scores overflow, as they are written.
// REMARK: "softmax"{{.*}}NoSoftmax{{.*}}no maximum is subtracted
func.func @no_maximum(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %e = cs336.exp %s : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Scores are rounded on the way.
// REMARK: "narrow"{{.*}}NotInScoreFunction{{.*}}'cs336.cast' rounds or widens scores
func.func @rounded(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %l = cs336.cast %s : tensor<4x4xf32> -> tensor<4x4xbf16> loc("narrow")
  %x = cs336.cast %l : tensor<4x4xbf16> -> tensor<4x4xf32> loc("wide")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Scores are transposed.
// REMARK: "turn"{{.*}}NotPointwise{{.*}}'cs336.transpose' is not pointwise
func.func @turned(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %x = cs336.transpose %s perm = [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32> loc("turn")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Scores are summed up.
// REMARK: "total"{{.*}}NotPointwise{{.*}}'cs336.broadcast'
func.func @accumulated(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %t0 = cs336.reduce sum %s axes = [0] : tensor<4x4xf32> -> tensor<4xf32>
  %x = cs336.broadcast %t0 dims = [1] : tensor<4xf32> -> tensor<4x4xf32> loc("total")
  %m0 = cs336.reduce max %x axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %x, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// An operation lies between softmax and values.
// REMARK: "between"{{.*}}BetweenSoftmaxAndValues{{.*}}'cs336.mul'
func.func @dropout(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %keep: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %kept = cs336.mul %p, %keep : tensor<4x4xf32> loc("between")
  %o = cs336.matmul %kept, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// As PyTorch writes dropout, several operations do; so may views.
// REMARK: "chosen"{{.*}}BetweenSoftmaxAndValues{{.*}}'cs336.select'
func.func @dropout_of_two(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %keep: tensor<4x4xi1>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %zero = cs336.constant dense<0.0> : tensor<4x4xf32>
  %c = cs336.constant dense<1.25> : tensor<4x4xf32>
  %p0 = cs336.select %keep, %p, %zero : tensor<4x4xf32> loc("chosen")
  %p1 = cs336.mul %p0, %c : tensor<4x4xf32>
  %p2 = cs336.reshape %p1 : tensor<4x4xf32> -> tensor<16xf32>
  %kept = cs336.reshape %p2 : tensor<16xf32> -> tensor<4x4xf32>
  %o = cs336.matmul %kept, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Probabilities are transposed: keys attend to queries.
// REMARK: "values"{{.*}}Transposed
func.func @transposed(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v {transpose_a} : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// Probabilities multiply from the right.
// REMARK: "values"{{.*}}Transposed
func.func @from_the_right(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %v, %p {transpose_a} : tensor<4x8xf32>, tensor<4x4xf32> -> tensor<8x4xf32> loc("values")
  return %o : tensor<8x4xf32>
}

// -----

// Values have other features than keys.
// REMARK: "values"{{.*}}HeadDim{{.*}}queries have 8 features and values 16; they must be equal
func.func @value_features(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %wide: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %wide : tensor<4x4xf32>, tensor<4x16xf32> -> tensor<4x16xf32> loc("values")
  return %o : tensor<4x16xf32>
}

// -----

// Kernels have no blocks of 264.
// REMARK: "values"{{.*}}HeadDim{{.*}}head_dim 264 is above 256
func.func @head_dim_264(%q: tensor<4x264xf32>, %k: tensor<4x264xf32>, %v: tensor<4x264xf32>) -> tensor<4x264xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x264xf32>, tensor<4x264xf32> -> tensor<4x4xf32> loc("scores")
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x264xf32> -> tensor<4x264xf32> loc("values")
  return %o : tensor<4x264xf32>
}

// -----

// A softmax of values that no matmul computes.
// REMARK: "softmax"{{.*}}NoScores
func.func @no_scores(%s: tensor<4x4xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The matmul of queries and keys adds a bias.
// REMARK: "scores"{{.*}}Epilogue{{.*}}the matmul that computes scores has an addend, a bias or a ReLU
func.func @bias(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %b: tensor<4xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k bias %b {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %p = cs336.softmax %s : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// A sum became part of the matmul.
// REMARK: "values"{{.*}}Epilogue{{.*}}the matmul that computes the result has an addend, a bias or a ReLU: run --cs336-fuse-epilogues after --cs336-flash-attention
func.func @residual(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %p = cs336.softmax %s : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v add %r : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// REMARK: "values"{{.*}}Epilogue
func.func @relu(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = cs336.matmul %q, %k {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32> loc("scores")
  %p = cs336.softmax %s : tensor<4x4xf32> loc("softmax")
  %o = cs336.matmul %p, %v {relu} : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32> loc("values")
  return %o : tensor<4x8xf32>
}

// -----

// The probabilities of a classifier are not an attention: no remark.
// REMARK-NOT: remark:
func.func @classifier(%x: tensor<4x8xf32>, %w: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %s = cs336.matmul %x, %w {transpose_b} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %m0 = cs336.reduce max %s axes = [1] {stop_gradient} : tensor<4x4xf32> -> tensor<4xf32>
  %m = cs336.broadcast %m0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %d = cs336.sub %s, %m : tensor<4x4xf32>
  %e = cs336.exp %d : tensor<4x4xf32>
  %z0 = cs336.reduce sum %e axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %z = cs336.broadcast %z0 dims = [0] : tensor<4xf32> -> tensor<4x4xf32>
  %p = cs336.div %e, %z : tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}
