"""Auxiliary information fusion (Ampomah's thesis, section 4.2), one target position at a time."""


def auxiliary_fusion(matrices, state, features):
    """Eqs (4.2), (4.3): ĥ + Σ_i W^i f^i; vectors are columns, W f."""
    output = state
    for matrix, feature in zip(matrices, features, strict=True):
        for row in range(len(state)):
            change = sum(matrix[row, column] * feature[column] for column in range(len(feature)))
            unit = state.new_zeros(len(state))
            unit[row] = 1.0
            output = output + change * unit
    return output
