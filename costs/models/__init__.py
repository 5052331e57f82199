from costs.models.budget import Budget, BudgetScope
from costs.models.pause import ProviderPause
from costs.models.price import PriceOverride
from costs.models.secret import Secret
from costs.models.spend import Spend, SpendScope
from costs.models.usage import Usage

__all__ = [
    "Budget",
    "BudgetScope",
    "PriceOverride",
    "ProviderPause",
    "Secret",
    "Spend",
    "SpendScope",
    "Usage",
]
