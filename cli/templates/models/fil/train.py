"""Train a model and write it: `pip install xgboost-cpu==3.0.5 scikit-learn && python train.py`.

Replace: data and parameters. Triton 24.03 to 25.09 reads files of XGBoost up to 3.0.
"""

import xgboost
from sklearn.datasets import load_iris

measurements, species = load_iris(return_X_y=True)
model = xgboost.XGBClassifier(n_estimators=4, max_depth=2, learning_rate=0.5)
model.fit(measurements, species)
model.get_booster().save_model("mymodel/1/xgboost.json")
print(model.predict_proba([[5.1, 3.5, 1.4, 0.2], [7.0, 3.2, 4.7, 1.4]]).tolist())
