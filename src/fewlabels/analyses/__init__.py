"""One call from predictions to a result: assess, compare, fairness, surface and doctor."""
